// SPDX-License-Identifier: MIT
// Sessions whose folders are copies of one. Both have the same identity, and
// each chain is whole: only beside each other they can be told apart.
#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "session/log.hpp"

namespace wb::verbs {

struct Copy {
  std::string session, other;  ///< the later one in the order given, and the one it is a copy of
  std::int64_t common = 0;     ///< so many events are the same in both
  bool is_apart = false;       ///< both went on; else one of them only stopped earlier
  std::int64_t session_events = 0, other_events = 0;
};

/// Takes in the logs of sessions one after the other.
class CopyFinder {
 public:
  /// Each log is kept by its hashes alone.
  void add(const std::string& name, const session::EventLog& log);
  [[nodiscard]] const std::vector<Copy>& copies() const { return m_copies; }
  /// How many events of the session added last are those of an earlier one.
  [[nodiscard]] std::int64_t common_of_last() const { return m_common_of_last; }

 private:
  struct Seen {
    std::string name;
    std::vector<std::string> hashes;
  };
  std::vector<Seen> m_seen;
  std::vector<Copy> m_copies;
  std::int64_t m_common_of_last = 0;
};

/// One sentence.
std::string words_of(const Copy& copy);
/// Of each: session, copy_of, common_events, apart, message.
Json to_json(const std::vector<Copy>& copies);

}  // namespace wb::verbs
