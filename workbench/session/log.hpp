// SPDX-License-Identifier: MIT
// EventLog: the append-only, hash-chained events.jsonl of a session
// (docs/contracts/session_format.md). Opening checks the whole chain but parses envelopes only;
// payloads are parsed on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/json.hpp"

namespace wb::session {

class SessionStorage;

inline constexpr std::size_t k_max_event_line_bytes = 64u << 10;  ///< without the newline
inline constexpr std::uint64_t k_max_log_bytes = 2ull << 30;
inline constexpr int k_max_payload_depth = 32;
inline constexpr std::string_view k_log_name = "events.jsonl";
/// The version in which this program writes an event of that type; it reads all up to it.
constexpr int event_version(std::string_view type) {
  return type == "hypothesis_decided" ? 2 : 1;
}
/// The packed log of a closed session (`gzip -n events.jsonl`). It is read, never written.
inline constexpr std::string_view k_packed_log_name = "events.jsonl.gz";

/// The fields of a line before its payload. Views point into the log's own buffer, which never
/// moves, and live as long as the log.
struct EventEnvelope {
  std::int64_t seq = 0;
  std::string_view t, type;
  int v = 0;
  std::string_view payload_text;
};

/// A parsed event.
struct Event {
  std::int64_t seq = 0;
  std::string t, type;
  Json payload;
};

/// The torn tail that opening cut off, saved beside the log. Its name is made from its position and
/// content, so that an interrupted recovery saves it under the same name again.
struct Recovery {
  std::uint64_t cut_bytes = 0;
  std::string saved_as;
};

class EventLog {
 public:
  /// Creates events.jsonl in an existing folder and holds its lock. Errors: invalid (exists), io, …
  static Result<EventLog> create(FileSystem& file_system, const Clock& clock,
                                 const fs::path& folder);
  /// Takes the flock and may append. A torn tail is cut, saved as events.torn-<seq>-<hash> and
  /// returned by recovery(); the caller writes the `recovered` event. Errors: locked, damaged
  /// (damage before the last line: names the line and the cause), too_new, read_only (also a packed
  /// log), not_found.
  static Result<EventLog> open_owner(FileSystem& file_system, const Clock& clock,
                                     const fs::path& folder);
  /// Reads without the lock, from the packed log if there is no other. A torn tail is ignored,
  /// since its owner may be writing it. Events of a newer version are kept. Errors: damaged,
  /// not_found, io.
  static Result<EventLog> open_reader(const FileSystem& file_system, const fs::path& folder);
  /// Reads a session in either form, folder or archive.
  static Result<EventLog> open_reader(const SessionStorage& storage);
  /// For readers: takes in the lines appended since it was opened or last caught up; an owner has
  /// them already. False when the file was replaced or changed: open it anew. Errors: damaged, io;
  /// the log is then unchanged.
  Result<bool> catch_up(const FileSystem& file_system);
  EventLog(EventLog&&) noexcept;
  EventLog& operator=(EventLog&&) noexcept;
  ~EventLog();

  /// One write and one fdatasync. Returns the new seq. Bytes that are not UTF-8 become U+FFFD, and
  /// numbers that are not finite become null. Errors: limit (a line over 64 KiB: put the large part
  /// into a blob; or nesting too deep), invalid (not an object, a NUL in a string), no_space, io,
  /// read_only (a reader); io also when the file was removed or replaced. After an error nothing
  /// was appended.
  Result<std::int64_t> append(std::string_view type, const Json& payload);

  /// For owners: fails when the path no longer leads to the held file. Errors: io.
  [[nodiscard]] Result<void> check_place() const;

  [[nodiscard]] std::int64_t size() const;
  /// Requires 1 <= seq <= size(), else throws std::out_of_range.
  [[nodiscard]] EventEnvelope envelope(std::int64_t seq) const;
  /// Errors: not_found (no such event), damaged (the payload is not JSON).
  [[nodiscard]] Result<Json> payload(std::int64_t seq) const;
  [[nodiscard]] Result<Event> event(std::int64_t seq) const;
  /// SHA-256 of the last line; 64 zeros when empty.
  [[nodiscard]] const std::string& head() const;
  /// SHA-256 of line `seq`, which the next line's `prev` and the Log-Head trailer hold.
  [[nodiscard]] std::string line_hash(std::int64_t seq) const;
  /// The bytes of the file from its start to the end of line `last_seq`.
  [[nodiscard]] std::string text(std::int64_t last_seq) const;
  [[nodiscard]] const std::optional<Recovery>& recovery() const;

 private:
  struct State;
  explicit EventLog(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

}  // namespace wb::session
