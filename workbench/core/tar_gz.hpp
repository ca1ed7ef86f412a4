// SPDX-License-Identifier: MIT
// A .tar.gz in memory, the same bytes for the same files: owner, times and modes are left out. A
// writer of its own because of what it is not: zlib is there, libarchive would bring ten libraries.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace wb {

class TarGz {
 public:
  TarGz();
  ~TarGz();
  TarGz(TarGz&&) noexcept;
  TarGz& operator=(TarGz&&) noexcept;

  /// A regular file; folders need no entry. Errors: invalid (a path that is absolute, leaves its
  /// folder or is too long for ustar: 100 bytes of name below 155 of folders); limit (8 GiB).
  Result<void> add(const std::string& path, std::string_view bytes);
  /// The whole archive; the object is spent afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace wb
