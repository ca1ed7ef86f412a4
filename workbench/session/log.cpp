// SPDX-License-Identifier: MIT
#include "session/log.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/log_reader.hpp"
#include "session/storage.hpp"

namespace wb::session {
namespace {

constexpr std::size_t k_chunk_bytes = 1u << 20;

Error read_only_error(const fs::path& path) {
  return Error{ErrorCode::read_only, "append to", path.string(), "it was opened for reading only",
               "open the session for writing"};
}

/// An owner must not follow a link out of the session folder, nor create a file in a foreign one.
Result<void> require_log_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (fs::is_regular_file(status)) return {};
  if (status.type() == fs::file_type::not_found) {
    return Error{ErrorCode::not_found, "open the log", path.string(), "no such file",
                 "name a folder that holds a session"};
  }
  return Error{ErrorCode::invalid, "open the log", path.string(), "it is not a regular file",
               "put the session's own events.jsonl there"};
}

bool is_packed(const fs::path& folder) {
  std::error_code error;
  return fs::symlink_status(folder / k_log_name, error).type() == fs::file_type::not_found &&
         fs::symlink_status(folder / k_packed_log_name, error).type() != fs::file_type::not_found;
}

/// Refuses what parse_json() would refuse, so that every written line can be read.
Result<void> require_readable(std::string_view type, std::string_view payload_text) {
  const auto refuse = [&](ErrorCode code, std::string cause, std::string next) {
    return Error{code, "append the event", printable(type), std::move(cause), std::move(next)};
  };
  const bool word =
      !type.empty() && type.size() <= 64 && std::all_of(type.begin(), type.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  if (!word) return refuse(ErrorCode::invalid, "its type is not a word of a-z, 0-9 and _", "");
  if (!payload_text.starts_with('{')) {
    return refuse(ErrorCode::invalid, "its payload is not an object", "");
  }
  if (depth_of_json(payload_text) > k_max_payload_depth) {
    return refuse(ErrorCode::limit,
                  fmt::format("its payload is nested deeper than {} levels", k_max_payload_depth),
                  "make it flatter or put the deep part into a blob");
  }
  // "\x01\x01u0000" is a NUL only if its backslash is not itself escaped; the parser decides.
  if (payload_text.find("\\u0000") == std::string_view::npos) return {};
  const Result<Json> parsed =
      parse_json(payload_text, "the payload", {k_max_event_line_bytes, k_max_payload_depth});
  if (parsed.ok() || payload_text.size() > k_max_event_line_bytes) return {};
  return refuse(ErrorCode::invalid, parsed.error().cause, "put binary text into a blob");
}

/// Identifies an unchanged file without reading it.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

std::optional<FileStamp> stamp_of(const fs::path& path) {
  struct stat seen {};
  if (::lstat(path.c_str(), &seen) != 0) return std::nullopt;
  return FileStamp{seen.st_dev, seen.st_ino, static_cast<std::uint64_t>(seen.st_size),
                   seen.st_mtim.tv_sec * 1'000'000'000 + seen.st_mtim.tv_nsec};
}

}  // namespace

struct EventLog::State {
  fs::path path;                     // for messages; for a log in an archive it is no file
  fs::path holder;                   // the file that is read: the log, or the archive
  bool may_grow = true;              // false for a packed log and for an archive
  std::optional<FileStamp> stamp;    // of a reader's file; of an owner's file at opening
  const Clock* clock = nullptr;      // null for a reader
  std::unique_ptr<AppendFile> file;  // null for a reader
  std::uint64_t bytes = 0;
  // Lines point into the chunks, which never move: the file at opening, then the appended parts. No
  // line crosses a chunk.
  std::vector<std::string> chunks;
  std::vector<std::string_view> lines;
  std::string head{k_no_hash};
  std::optional<Recovery> recovery;

  Result<ScannedLog> take(std::string text) {
    chunks.reserve(64);
    chunks.push_back(std::move(text));
    return scan_log(chunks.front(), path);
  }
  void adopt(ScannedLog scanned) {
    lines = std::move(scanned.lines);
    head = std::move(scanned.head);
    bytes = scanned.whole_bytes;
  }
  void keep(std::string_view line) {
    if (chunks.empty() || chunks.back().capacity() - chunks.back().size() < line.size()) {
      std::string chunk;
      chunk.reserve(std::max(k_chunk_bytes, line.size()));
      chunks.push_back(std::move(chunk));
    }
    std::string& chunk = chunks.back();
    const std::size_t begin = chunk.size();
    chunk += line;
    lines.emplace_back(chunk.data() + begin, line.size());
  }
  /// True when a text begins with all lines, byte for byte.
  [[nodiscard]] bool begins(std::string_view text) const {
    for (const std::string_view line : lines) {
      if (!text.starts_with(line) || text.size() == line.size() || text[line.size()] != '\n') {
        return false;
      }
      text.remove_prefix(line.size() + 1);
    }
    return true;
  }
  [[nodiscard]] std::string_view line(std::int64_t seq) const {
    if (seq < 1 || seq > static_cast<std::int64_t>(lines.size())) {
      throw std::out_of_range(fmt::format("no event {} in {}", seq, path.string()));
    }
    return lines[static_cast<std::size_t>(seq - 1)];
  }
};

EventLog::EventLog(std::unique_ptr<State> state) : m_state(std::move(state)) {}
EventLog::EventLog(EventLog&&) noexcept = default;
EventLog& EventLog::operator=(EventLog&&) noexcept = default;
EventLog::~EventLog() = default;

Result<EventLog> EventLog::create(FileSystem& file_system, const Clock& clock,
                                  const fs::path& folder) {
  auto state = std::make_unique<State>();
  state->path = folder / k_log_name;
  state->clock = &clock;
  std::error_code ignored;
  if (fs::symlink_status(state->path, ignored).type() != fs::file_type::not_found) {
    return Error{ErrorCode::invalid, "create the log", state->path.string(), "it exists",
                 "choose another folder for a new session"};
  }
  WB_TRY_ASSIGN(state->file, file_system.open_append(state->path));
  if (state->file->size_bytes() != 0) {
    return Error{ErrorCode::invalid, "create the log", state->path.string(),
                 "another process has just made it", "choose another folder for a new session"};
  }
  state->stamp = stamp_of(state->path);
  return EventLog(std::move(state));
}

Result<EventLog> EventLog::open_owner(FileSystem& file_system, const Clock& clock,
                                      const fs::path& folder) {
  auto state = std::make_unique<State>();
  state->path = folder / k_log_name;
  state->clock = &clock;
  if (is_packed(folder)) {
    return Error{ErrorCode::read_only, "open the log for writing", folder.string(),
                 "the session is closed and its log packed, as events.jsonl.gz",
                 "open another one with --after, or gunzip the log if it must be written"};
  }
  WB_TRY(require_log_file(state->path));
  // Lock first: bytes read before the lock is held may be stale.
  WB_TRY_ASSIGN(state->file, file_system.open_append(state->path));
  state->stamp = stamp_of(state->path);
  WB_TRY_ASSIGN(std::string text, file_system.read(state->path, k_max_log_bytes));
  WB_TRY_ASSIGN(ScannedLog scanned, state->take(std::move(text)));
  if (scanned.too_new_seq > 0) {
    return Error{ErrorCode::too_new, "open the log for writing", state->path.string(),
                 fmt::format("event {} has version {}, above what this program writes",
                             scanned.too_new_seq, scanned.too_new_version),
                 "go on with the newer sdpa-wb that wrote it; reading it is possible"};
  }
  const std::string_view all = state->chunks.front();
  if (scanned.whole_bytes < all.size()) {
    const std::string_view tail = all.substr(scanned.whole_bytes);
    Recovery recovery;
    recovery.cut_bytes = tail.size();
    recovery.saved_as =
        fmt::format("events.torn-{:06}-{}", scanned.lines.size() + 1, short_hash(sha256_hex(tail)));
    WB_TRY(file_system.write_atomic(folder / recovery.saved_as, tail, Durability::synced));
    WB_TRY(state->file->truncate(scanned.whole_bytes));
    state->recovery = std::move(recovery);
  }
  state->adopt(std::move(scanned));
  return EventLog(std::move(state));
}

Result<EventLog> EventLog::open_reader(const FileSystem& file_system, const fs::path& folder) {
  return open_reader(FolderStorage(file_system, folder));
}

Result<EventLog> EventLog::open_reader(const SessionStorage& storage) {
  auto state = std::make_unique<State>();
  const std::string plain(k_log_name), packed(k_packed_log_name);
  const bool is_plain = storage.has(plain) || !storage.has(packed);
  state->path = storage.path() / (is_plain ? plain : packed);
  state->holder = storage.is_archive() ? storage.path() : state->path;
  state->may_grow = is_plain && !storage.is_archive();
  if (!storage.is_archive()) WB_TRY(require_log_file(state->path));
  // Stamp first: lines appended in between are read now and looked for again later.
  state->stamp = stamp_of(state->holder);
  WB_TRY_ASSIGN(std::string text, storage.read_unpacked(plain, k_max_log_bytes));
  WB_TRY_ASSIGN(ScannedLog scanned, state->take(std::move(text)));
  state->adopt(std::move(scanned));
  return EventLog(std::move(state));
}

Result<bool> EventLog::catch_up(const FileSystem& file_system) {
  State& state = *m_state;
  if (state.file != nullptr) return true;
  const std::optional<FileStamp> now = stamp_of(state.holder);
  if (!now || !state.stamp) return false;
  const bool is_packed_log = state.path.filename() == fs::path(k_packed_log_name);
  if (state.holder == state.path && is_packed(state.path.parent_path()) != is_packed_log) {
    return false;
  }
  if (*now == *state.stamp) return true;
  const bool is_same_file = now->device == state.stamp->device && now->inode == state.stamp->inode;
  if (!is_same_file || !state.may_grow) return false;
  WB_TRY_ASSIGN(const std::string text, file_system.read(state.path, k_max_log_bytes));
  if (!state.begins(text)) return false;
  const std::string head = state.head;
  WB_TRY_ASSIGN(const ScannedLog scanned,
                scan_log(std::string_view(text).substr(state.bytes), state.path,
                         {.count = state.lines.size(), .head = head}));
  for (const std::string_view line : scanned.lines) state.keep(line);
  state.head = scanned.head;
  state.bytes += scanned.whole_bytes;
  state.stamp = now;
  return true;
}

Result<std::int64_t> EventLog::append(std::string_view type, const Json& payload) {
  State& state = *m_state;
  if (state.file == nullptr) return read_only_error(state.path);
  const std::string payload_text = payload.dump(-1, ' ', false, Json::error_handler_t::replace);
  WB_TRY(require_readable(type, payload_text));
  const std::int64_t seq = size() + 1;
  const std::string text = fmt::format(
      "{{\"seq\":{},\"prev\":\"{}\",\"t\":\"{}\",\"type\":\"{}\",\"v\":{},\"payload\":{}}}\n", seq,
      state.head, to_iso8601(state.clock->now()), type, event_version(type), payload_text);
  const std::string_view line = std::string_view(text).substr(0, text.size() - 1);
  if (line.size() > k_max_event_line_bytes) {
    return Error{
        ErrorCode::limit, "append the event", std::string(type),
        fmt::format("its line of {} bytes is longer than {}", line.size(), k_max_event_line_bytes),
        "put the large part into a blob and name its hash"};
  }
  if (state.bytes + text.size() > k_max_log_bytes) {
    return Error{ErrorCode::limit, "append to", state.path.string(),
                 fmt::format("the log would exceed {} bytes", k_max_log_bytes),
                 "close this session and open another"};
  }
  if (!scan_line(line)) {
    return Error{ErrorCode::internal, "append the event", std::string(type),
                 "its envelope does not read back (is the clock beyond year 9999?)", ""};
  }
  WB_TRY(check_place());  // a file without a name accepts every write and keeps none
  WB_TRY(state.file->append_synced(text));
  state.bytes += text.size();
  state.keep(line);
  state.head = sha256_hex(line);
  return seq;
}

Result<void> EventLog::check_place() const {
  const State& state = *m_state;
  if (state.file == nullptr || !state.stamp) return {};
  const std::optional<FileStamp> now = stamp_of(state.path);
  if (now && now->device == state.stamp->device && now->inode == state.stamp->inode) return {};
  return Error{ErrorCode::io, "write to the session", state.path.parent_path().string(),
               now ? "its log was replaced by another file while the session ran"
                   : "its folder was removed or moved while the session ran",
               now ? "leave a session's folder to it while it runs; open what is there now again"
                   : "put it back where it was moved from and resume it, or open a new session; "
                     "what a removed folder held is gone"};
}

std::int64_t EventLog::size() const {
  return static_cast<std::int64_t>(m_state->lines.size());
}

EventEnvelope EventLog::envelope(std::int64_t seq) const {
  const std::optional<ScannedLine> scanned = scan_line(m_state->line(seq));
  if (!scanned) throw std::logic_error("a line that was checked cannot be read");
  return scanned->envelope;
}

Result<Json> EventLog::payload(std::int64_t seq) const {
  if (seq < 1 || seq > size()) {
    return Error{ErrorCode::not_found, "read the event", fmt::to_string(seq),
                 fmt::format("{} has {} events", m_state->path.string(), size()), ""};
  }
  const EventEnvelope line = envelope(seq);
  Result<Json> parsed =
      parse_json(line.payload_text, "the payload", {k_max_event_line_bytes, k_max_payload_depth});
  if (parsed.ok()) return parsed;
  return Error{ErrorCode::damaged, "read the payload of",
               fmt::format("event {} ({}) in {}", seq, line.type, m_state->path.string()),
               parsed.error().cause,
               "the chain is whole, so it was written like this; report it as a fault"};
}

Result<Event> EventLog::event(std::int64_t seq) const {
  WB_TRY_ASSIGN(Json parsed, payload(seq));
  const EventEnvelope line = envelope(seq);
  return Event{seq, std::string(line.t), std::string(line.type), std::move(parsed)};
}

const std::string& EventLog::head() const {
  return m_state->head;
}

std::string EventLog::line_hash(std::int64_t seq) const {
  return sha256_hex(m_state->line(seq));
}

std::string EventLog::text(std::int64_t last_seq) const {
  std::size_t bytes = 0;
  for (std::int64_t seq = 1; seq <= last_seq; ++seq) bytes += m_state->line(seq).size() + 1;
  std::string whole;
  whole.reserve(bytes);
  for (std::int64_t seq = 1; seq <= last_seq; ++seq) (whole += m_state->line(seq)) += '\n';
  return whole;
}

const std::optional<Recovery>& EventLog::recovery() const {
  return m_state->recovery;
}

}  // namespace wb::session
