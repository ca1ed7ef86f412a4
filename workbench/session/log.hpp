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
inline constexpr int k_event_version = 1;
inline constexpr std::string_view k_log_name = "events.jsonl";
/// Of a closed session that is kept: `gzip -n events.jsonl`. It is read, never written.
inline constexpr std::string_view k_packed_log_name = "events.jsonl.gz";

/// What a line says before its payload. Views point into the log's own buffer, which never moves:
/// they live as long as the log.
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

/// What opening had to mend: the torn tail, saved beside the log under a name made from its place
/// and content, so that a recovery that is cut off itself saves it under the same name again.
struct Recovery {
  std::uint64_t cut_bytes = 0;
  std::string saved_as;
};

class EventLog {
 public:
  /// Creates events.jsonl in an existing folder and holds it. Errors: invalid (exists), io, …
  static Result<EventLog> create(FileSystem& file_system, const Clock& clock,
                                 const fs::path& folder);
  /// Holds the flock and may append. A torn tail is cut, saved as events.torn-<seq>-<hash> and told
  /// by recovery(); writing the `recovered` event is the caller's part. Errors: locked, damaged
  /// (middle damage: says line and what), too_new, read_only (also: packed), not_found.
  static Result<EventLog> open_owner(FileSystem& file_system, const Clock& clock,
                                     const fs::path& folder);
  /// Reads without the lock, the packed log where there is no other; a torn tail is ignored (its
  /// owner may be writing it). Events of a higher version are kept. Errors: damaged, not_found, io.
  static Result<EventLog> open_reader(const FileSystem& file_system, const fs::path& folder);
  /// The same, of a session in either form.
  static Result<EventLog> open_reader(const SessionStorage& storage);
  /// A reader's: takes in what was appended since it was opened or last caught up; an owner has it.
  /// False where the file is another one, or was changed: open it anew. Errors: damaged, io; the
  /// log then stands as before.
  Result<bool> catch_up(const FileSystem& file_system);
  EventLog(EventLog&&) noexcept;
  EventLog& operator=(EventLog&&) noexcept;
  ~EventLog();

  /// One write and one fdatasync. Returns the new seq. Bytes that are not UTF-8 become U+FFFD and
  /// numbers that are not finite become null. Errors: limit (a line over 64 KiB: put the large part
  /// into a blob; nesting too deep), invalid (not an object, a NUL in a string), no_space, io,
  /// read_only (a reader); io also when the file was removed or replaced. After an error nothing
  /// was added.
  Result<std::int64_t> append(std::string_view type, const Json& payload);

  /// Of an owner: whether the file at its place is still the one that is held. Errors: io.
  [[nodiscard]] Result<void> check_place() const;

  [[nodiscard]] std::int64_t size() const;
  /// 1 <= seq <= size(), else std::out_of_range.
  [[nodiscard]] EventEnvelope envelope(std::int64_t seq) const;
  /// Errors: not_found (no such event), damaged (the payload is not JSON).
  [[nodiscard]] Result<Json> payload(std::int64_t seq) const;
  [[nodiscard]] Result<Event> event(std::int64_t seq) const;
  /// SHA-256 of the last line; 64 zeros when empty.
  [[nodiscard]] const std::string& head() const;
  /// SHA-256 of line `seq`: what the next line's `prev` and the Log-Head trailer hold.
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
