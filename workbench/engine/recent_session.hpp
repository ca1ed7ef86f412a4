// SPDX-License-Identifier: MIT
// Private to engine: the session that was read last. Whoever polls one asks for it again, so its
// log is read and folded once and grows from there.
#pragma once

#include <optional>

#include "session/session.hpp"

namespace wb::engine {

class RecentSession {
 public:
  /// The session below `folder` as it is now; valid until the next call. A log that was changed,
  /// and not appended to, is read anew as a whole. Errors: as Session::open_reader().
  Result<const session::Session*> read(FileSystem& file_system, const fs::path& folder);

 private:
  std::optional<session::Session> m_session;
  fs::path m_asked;  ///< what named it: an archive's name may be given in two ways
};

}  // namespace wb::engine
