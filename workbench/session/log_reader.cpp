// SPDX-License-Identifier: MIT
#include "session/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/hash.hpp"

namespace wb::session {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_hex_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
bool is_time_char(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == ':' || c == '.' || c == 'T' || c == 'Z';
}

/// Consumes text from the front of a line; after the first mismatch all reads fail.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : m_rest(rest) {}

  void expect(std::string_view literal) {
    m_ok = m_ok && m_rest.starts_with(literal);
    if (m_ok) m_rest.remove_prefix(literal.size());
  }
  template <typename Number>
  Number number() {
    Number value = 0;
    const auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
    m_ok = m_ok && error == std::errc() && m_rest.front() != '0' && value > 0;
    if (m_ok) m_rest.remove_prefix(static_cast<std::size_t>(end - m_rest.data()));
    return value;
  }
  template <typename Test>
  std::string_view run(Test test, std::size_t min, std::size_t max) {
    const auto end = std::find_if_not(m_rest.begin(), m_rest.end(), test);
    const auto length = static_cast<std::size_t>(end - m_rest.begin());
    m_ok = m_ok && length >= min && length <= max;
    if (!m_ok) return {};
    const std::string_view text = m_rest.substr(0, length);
    m_rest.remove_prefix(length);
    return text;
  }
  [[nodiscard]] bool ok() const { return m_ok; }
  [[nodiscard]] std::string_view rest() const { return m_rest; }

 private:
  std::string_view m_rest;
  bool m_ok = true;
};

Error damaged_line(const fs::path& path, std::size_t line, std::string cause) {
  const std::string keep =
      line > 1 ? fmt::format("; lines 1 to {} are whole", line - 1) : std::string();
  return Error{
      ErrorCode::damaged, "read the log", fmt::format("{} line {}", path.string(), line),
      std::move(cause),
      fmt::format(
          "put the file back from a copy{} (docs/contracts/session_format.md, \"Recovery\")",
          keep)};
}

/// Describes the fault in a line that the scanner refused.
std::string describe_fault(std::string_view line) {
  if (line.empty()) return "an empty line";
  if (line.size() > k_max_event_line_bytes) {
    return fmt::format("{} bytes are more than the limit of {}", line.size(),
                       k_max_event_line_bytes);
  }
  return fmt::format("not an event (it begins with {})", printable(line, 60));
}

std::size_t skip_string(std::string_view text, std::size_t at) {
  // `at` is after the opening quote; returns the position after the closing one, or npos.
  while (true) {
    at = text.find_first_of("\"\\", at);
    if (at == std::string_view::npos) return at;
    if (text[at] == '"') return at + 1;
    at += 2;
  }
}

/// The position after the value that begins at `at`, or npos.
std::size_t skip_value(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '"') return skip_string(text, at + 1);
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at + 1);
      if (at == std::string_view::npos) return at;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0 && (c == '}' || c == ']')) return at;
  }
  return std::string_view::npos;
}

IntegerMember read_integer(std::string_view text) {
  IntegerMember member;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), member.value);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error == std::errc() && used < text.size() && (text[used] == ',' || text[used] == '}')) {
    member.state = IntegerMember::State::found;
  } else if (text.starts_with("null")) {
    member.state = IntegerMember::State::absent_or_null;
  }
  return member;
}

/// Where a member stands in the text of an object.
struct FoundMember {
  std::string_view value;  ///< the text from its value on; empty where it was not found
  bool is_absent = false;  ///< the whole object was read, and it is not there
};

FoundMember find_member(std::string_view object_text, std::string_view key) {
  FoundMember found;
  if (!object_text.starts_with('{')) return found;
  std::size_t at = 1;
  while (at < object_text.size() && object_text[at] == '"') {
    const std::size_t key_end = skip_string(object_text, at + 1);
    if (key_end == std::string_view::npos || key_end >= object_text.size() ||
        object_text[key_end] != ':') {
      return found;
    }
    if (object_text.substr(at + 1, key_end - at - 2) == key) {
      found.value = object_text.substr(key_end + 1);
      return found;
    }
    at = skip_value(object_text, key_end + 1);
    if (at == std::string_view::npos || at >= object_text.size()) return found;
    if (object_text[at] == ',') ++at;
  }
  found.is_absent = at < object_text.size() && object_text[at] == '}';
  return found;
}

}  // namespace

std::optional<ScannedLine> scan_line(std::string_view line) {
  if (line.size() > k_max_event_line_bytes) return std::nullopt;
  ScannedLine scanned;
  EventEnvelope& envelope = scanned.envelope;
  Cursor cursor(line);
  cursor.expect(R"({"seq":)");
  envelope.seq = cursor.number<std::int64_t>();
  cursor.expect(R"(,"prev":")");
  scanned.prev = cursor.run(is_hex_char, 64, 64);
  cursor.expect(R"(","t":")");
  envelope.t = cursor.run(is_time_char, 20, 32);
  cursor.expect(R"(","type":")");
  envelope.type = cursor.run(is_word_char, 1, 64);
  cursor.expect(R"(","v":)");
  envelope.v = cursor.number<int>();
  cursor.expect(R"(,"payload":)");
  const std::string_view rest = cursor.rest();
  if (!cursor.ok() || !rest.starts_with('{') || !rest.ends_with("}}")) return std::nullopt;
  envelope.payload_text = rest.substr(0, rest.size() - 1);
  return scanned;
}

Result<ScannedLog> scan_log(std::string_view text, const fs::path& path, LinesBefore before) {
  ScannedLog log;
  log.head = before.head;
  log.lines.reserve(text.size() / 512 + 16);
  while (log.whole_bytes < text.size()) {
    const std::string_view rest = text.substr(log.whole_bytes);
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    const std::size_t number = before.count + log.lines.size() + 1;
    // A write that was cut off has no newline. After a power cut the last write may have its length
    // and newline, with zeros where blocks did not reach the disk.
    const bool last = newline == std::string_view::npos || newline + 1 == rest.size();
    const bool hole = last && line.find('\0') != std::string_view::npos;
    if (newline == std::string_view::npos || hole) {
      if (line.size() <= k_max_event_line_bytes) return log;
      return damaged_line(path, number, describe_fault(line));
    }
    const std::optional<ScannedLine> scanned = scan_line(line);
    if (!scanned) return damaged_line(path, number, describe_fault(line));
    const EventEnvelope& envelope = scanned->envelope;
    if (envelope.seq != static_cast<std::int64_t>(number)) {
      return damaged_line(path, number,
                          fmt::format("its seq is {} where {} belongs: a line is missing, doubled "
                                      "or moved",
                                      envelope.seq, number));
    }
    if (scanned->prev != log.head) {
      return damaged_line(
          path, number,
          number == 1 ? std::string("its prev is not 64 zeros")
                      : fmt::format("its prev is not the SHA-256 of line {}: one of the two lines "
                                    "was changed",
                                    number - 1));
    }
    if (log.too_new_seq == 0 && envelope.v > event_version(envelope.type)) {
      log.too_new_version = envelope.v;
      log.too_new_seq = envelope.seq;
    }
    log.lines.push_back(line);
    log.head = sha256_hex(line);
    log.whole_bytes += newline + 1;
  }
  return log;
}

IntegerMember find_integer_member(std::string_view object_text, std::string_view key) {
  const FoundMember found = find_member(object_text, key);
  if (!found.value.empty()) return read_integer(found.value);
  IntegerMember member;
  if (found.is_absent) member.state = IntegerMember::State::absent_or_null;
  return member;
}

std::optional<double> find_number_member(std::string_view object_text, std::string_view key) {
  const std::string_view text = find_member(object_text, key).value;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || used >= text.size()) return std::nullopt;
  if (text[used] != ',' && text[used] != '}') return std::nullopt;
  return value;
}

int depth_of_json(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t behind = skip_string(text, at + 1);
      if (behind == std::string_view::npos) return deepest;
      at = behind - 1;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace wb::session
