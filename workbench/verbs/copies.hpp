// SPDX-License-Identifier: MIT
// Finds sessions whose folders are copies of one session. Copies have the same identity and intact
// chains, so they can only be detected by comparing them.
#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "session/log.hpp"

namespace wb::verbs {

struct Copy {
  std::string session, other;  ///< the later one in the given order, and the one it copies
  std::int64_t common = 0;     ///< number of leading events that are the same in both
  bool is_apart = false;       ///< both continued separately; else one only stopped earlier
  std::int64_t session_events = 0, other_events = 0;
};

/// Compares the logs of sessions, added one after the other.
class CopyFinder {
 public:
  /// Keeps only the line hashes of the log.
  void add(const std::string& name, const session::EventLog& log);
  [[nodiscard]] const std::vector<Copy>& copies() const { return m_copies; }
  /// How many events of the last added session belong to an earlier one.
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
/// One row each: session, copy_of, common_events, apart, message.
Json to_json(const std::vector<Copy>& copies);

}  // namespace wb::verbs
