// SPDX-License-Identifier: MIT
// Reads the bytes of events.jsonl: the envelope scanner, the check of the whole chain, and a lookup
// in a payload without building a JSON tree. Used by EventLog and the fold only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/log.hpp"

namespace wb::session {

/// 64 zeros: the `prev` of the first line.
inline constexpr std::string_view k_no_hash =
    "0000000000000000000000000000000000000000000000000000000000000000";

struct ScannedLine {
  EventEnvelope envelope;
  std::string_view prev;
};

/// Reads the envelope of a line (without newline) exactly as EventLog writes it. Returns nothing
/// when the line deviates; of the payload only the braces are checked.
std::optional<ScannedLine> scan_line(std::string_view line);

/// The scanned lines of a log. Views point into the given text.
struct ScannedLog {
  std::vector<std::string_view> lines;  ///< whole, chained lines without newline
  std::string head;                     ///< SHA-256 of the last line
  std::uint64_t whole_bytes = 0;        ///< offset of the torn tail, if there is one
  int too_new_version = 0;              ///< of the first event of a version above event_version()
  std::int64_t too_new_seq = 0;         ///< 0: there is none
};

/// What precedes a text: nothing, or lines that were checked already.
struct LinesBefore {
  std::size_t count = 0;
  std::string_view head = k_no_hash;  ///< SHA-256 of the last of them
};

/// Checks sequence numbers and hash chain of the whole text. A torn tail (the rest of an
/// interrupted write) begins at whole_bytes and is left out. Errors: damaged, with the line number.
Result<ScannedLog> scan_log(std::string_view text, const fs::path& path, LinesBefore before = {});

/// The top-level integer member `key` of a JSON object, found without building the object.
struct IntegerMember {
  enum class State { found, absent_or_null, unreadable } state = State::unreadable;
  std::int64_t value = 0;
};
IntegerMember find_integer_member(std::string_view object_text, std::string_view key);
/// The same for a number; nothing where the object has none under this key.
std::optional<double> find_number_member(std::string_view object_text, std::string_view key);

/// Nesting depth of a JSON text.
int depth_of_json(std::string_view text);

}  // namespace wb::session
