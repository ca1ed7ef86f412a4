// SPDX-License-Identifier: MIT
#include "session/redact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace wb {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
/// Bytes of names in any language count as letters.
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
char before(std::string_view text, std::size_t at) {
  return at == 0 ? '\0' : text[at - 1];
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Words that name nobody: as names of users or machines they are left alone.
bool is_common(std::string_view word) {
  static constexpr std::array<std::string_view, 22> k_common{
      "sdpa-wb", "localhost", "local", "root",    "user",  "users", "admin", "ubuntu",
      "debian",  "runner",    "build", "builder", "test",  "work",  "home",  "docker",
      "exec",    "ssh",       "sudo",  "kubectl", "guest", "nobody"};
  return std::find(k_common.begin(), k_common.end(), lower(word)) != k_common.end();
}

// Paths
// --------------------------------------------------------------------------------------------

bool is_path_char(char c) {
  return is_word(c) || std::string_view("/.-+@%~=#\\").find(c) != std::string_view::npos;
}

/// A '/' here begins an absolute path, rather than standing between two words or closing a tag.
bool begins_path(std::string_view text, std::size_t at) {
  const char left = before(text, at);
  if (left == '\0' || std::isspace(static_cast<unsigned char>(left)) != 0 ||
      std::string_view("\"'`()[]{}=:,;|>&!*").find(left) != std::string_view::npos) {
    return true;
  }
  // "-I/usr/include"
  return is_letter(left) && at >= 2 && text[at - 2] == '-' &&
         !is_word(at >= 3 ? text[at - 3] : '\0');
}

std::size_t match_path(std::string_view text, std::size_t at) {
  if (text[at] != '/' || !begins_path(text, at)) return 0;
  std::size_t end = at + 1;
  while (end < text.size() && is_path_char(text[end])) ++end;
  while (end > at && std::string_view("./\\").find(text[end - 1]) != std::string_view::npos) --end;
  const std::string_view path = text.substr(at, end - at);
  // "/s" of a rate is none; nor are files that every Linux has and that name nothing.
  const bool names_something =
      path.size() >= 3 && std::any_of(path.begin(), path.end(), [](char c) { return is_word(c); });
  const bool is_neutral = path == "/proc/meminfo" || path == "/proc/cpuinfo" || path == "/dev/null";
  return names_something && !path.starts_with("//") && !is_neutral ? path.size() : 0;
}

// Addresses
// --------------------------------------------------------------------------------------------

bool is_local_char(char c) {
  return is_word(c) || std::string_view(".+-%\\").find(c) != std::string_view::npos;
}

/// The length of a host's name with at least one dot and a last part of letters; or localhost.
std::size_t domain_length(std::string_view text) {
  if (text.starts_with("localhost")) return 9;
  std::size_t end = 0, last_dot = std::string_view::npos;
  while (end < text.size() && (is_word(text[end]) || text[end] == '-' || text[end] == '.')) {
    if (text[end] == '.') {
      if (end + 1 >= text.size() || !is_word(text[end + 1])) break;
      last_dot = end;
    }
    ++end;
  }
  if (last_dot == std::string_view::npos || last_dot == 0 || end - last_dot < 3) return 0;
  const std::string_view top = text.substr(last_dot + 1, end - last_dot - 1);
  return std::all_of(top.begin(), top.end(), [](char c) { return !is_digit(c); }) ? end : 0;
}

/// From the first character of the local part on.
std::size_t match_email(std::string_view text, std::size_t at) {
  if (!is_local_char(text[at]) || text[at] == '.' || is_local_char(before(text, at))) return 0;
  std::size_t end = at;
  while (end < text.size() && is_local_char(text[end])) ++end;
  if (end == at || end >= text.size() || text[end] != '@') return 0;
  const std::size_t host = domain_length(text.substr(end + 1));
  return host == 0 ? 0 : end + 1 + host - at;
}

std::size_t match_url(std::string_view text, std::size_t at) {
  if (!is_letter(text[at]) || is_word(before(text, at))) return 0;
  std::size_t end = at;
  while (end < text.size() && (is_letter(text[end]) || text[end] == '+')) ++end;
  if (text.substr(end, 3) != "://") return 0;
  end += 3;
  const std::size_t begin = end;
  while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])) == 0 &&
         std::string_view("\"'`<>()[]{}|").find(text[end]) == std::string_view::npos) {
    ++end;
  }
  while (end > begin && std::string_view(".,;:!?").find(text[end - 1]) != std::string_view::npos) {
    --end;
  }
  return end > begin ? end - at : 0;
}

std::size_t match_ipv4(std::string_view text, std::size_t at) {
  if (!is_digit(text[at]) || is_word(before(text, at)) || before(text, at) == '.') return 0;
  std::size_t end = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (end >= text.size() || text[end++] != '.')) return 0;
    int value = 0;
    const std::size_t begin = end;
    while (end < text.size() && is_digit(text[end]) && end - begin < 4) {
      value = value * 10 + (text[end++] - '0');
    }
    if (end == begin || value > 255) return 0;
  }
  const bool goes_on =
      end < text.size() && (is_word(text[end]) ||
                            (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])));
  return goes_on ? 0 : end - at;
}

/// IPv6 (eight groups, or fewer with one "::") and hardware addresses (six pairs).
std::size_t match_colons(std::string_view text, std::size_t at) {
  const char left = before(text, at);
  if (!is_hex(text[at]) || is_word(left) || left == ':') return 0;
  std::size_t end = at, group = 0;
  int colons = 0, doubles = 0, pairs = 0;
  for (; end < text.size() && (is_hex(text[end]) || text[end] == ':'); ++end) {
    if (text[end] != ':') {
      if (++group > 4) return 0;
      continue;
    }
    pairs += group == 2 ? 1 : 0;
    group = 0;
    ++colons;
    doubles += text[end - 1] == ':' ? 1 : 0;
  }
  pairs += group == 2 ? 1 : 0;
  while (end > at && text[end - 1] == ':' && doubles == 0) {
    --end;
    --colons;
  }
  if (end < text.size() && is_word(text[end])) return 0;
  const bool is_ipv6 = (colons == 7 && doubles == 0) || (doubles == 1 && colons >= 3);
  const bool is_hardware = colons == 5 && pairs == 6;
  return is_ipv6 || is_hardware ? end - at : 0;
}

/// "GPU-f52003be-70bb-…": NVIDIA's serial id of one board.
std::size_t match_board(std::string_view text, std::size_t at) {
  constexpr std::size_t k_length = 40;
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    if (!text.substr(at).starts_with(prefix) || is_word(before(text, at))) continue;
    const std::string_view id = text.substr(at + prefix.size(), k_length - prefix.size());
    if (id.size() == k_length - prefix.size() &&
        std::all_of(id.begin(), id.end(), [](char c) { return is_hex(c) || c == '-'; })) {
      return k_length;
    }
  }
  return 0;
}

/// The first part of what follows a folder of homes.
std::string user_of_home(std::string_view text, std::size_t after) {
  std::size_t end = after;
  while (end < text.size() && (is_word(text[end]) || text[end] == '-' || text[end] == '.')) ++end;
  return std::string(text.substr(after, end - after));
}

}  // namespace

void Redactor::learn_word(std::string_view kind, const std::string& word) {
  if (word.size() < 3 || is_common(word)) return;
  m_learned.emplace(lower(word), kind);
}

void Redactor::learn_homes(std::string_view text) {
  for (const char* folder : {"home", "Users"}) {
    const std::string home = fmt::format("/{}/", folder);
    for (std::size_t at = text.find(home); at != std::string_view::npos;
         at = text.find(home, at + 1)) {
      learn_word("user", user_of_home(text, at + home.size()));
    }
  }
}

Result<void> Redactor::learn(const EventLog& log) {
  const auto text_at = [](const Json& json, const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string()
               ? json[key].get<std::string>()
               : std::string();
  };
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    const EventEnvelope event = log.envelope(seq);
    learn_homes(event.payload_text);
    if (event.type != "session_opened" && event.type != "iteration_closed" &&
        event.type != "session_closed" && event.type != "environment_recorded") {
      continue;
    }
    WB_TRY_ASSIGN(const Json payload, log.payload(seq));
    for (const char* who : {"author", "committer"}) {
      const Json person = payload.value(who, Json());
      const std::string email = text_at(person, "email");
      learn_word("user", text_at(person, "name"));
      learn_word("email", email);
      learn_word("user", email.substr(0, email.find('@')));
    }
    const std::string transport = text_at(payload.value("worker", Json()), "transport");
    for (std::size_t at = 0; at < transport.size();) {
      const std::size_t end = std::min(transport.find_first_of(" \t@:", at), transport.size());
      const std::string word = transport.substr(at, end - at);
      if (!word.starts_with('-')) learn_word("host", word);
      at = end + 1;
    }
    learn_word("host", text_at(payload.value("host", Json()), "name"));
  }
  return {};
}

std::size_t Redactor::match_learned(std::string_view text, std::size_t at,
                                    std::string_view& kind) const {
  if (!is_word(text[at]) || is_word(before(text, at))) return 0;
  std::size_t longest = 0;
  for (const auto& [word, its_kind] : m_learned) {
    if (word.size() <= longest || text.size() - at < word.size()) continue;
    const std::size_t end = at + word.size();
    if (end < text.size() && is_word(text[end])) continue;
    if (lower(text.substr(at, word.size())) != word) continue;
    longest = word.size();
    kind = its_kind;
  }
  return longest;
}

std::size_t Redactor::match(std::string_view text, std::size_t at, std::string_view& kind) const {
  if (const std::size_t n = match_url(text, at); n > 0) return kind = "url", n;
  if (const std::size_t n = match_email(text, at); n > 0) return kind = "email", n;
  if (const std::size_t n = match_path(text, at); n > 0) return kind = "path", n;
  if (const std::size_t n = match_board(text, at); n > 0) return kind = "host", n;
  if (const std::size_t n = match_ipv4(text, at); n > 0) return kind = "host", n;
  if (const std::size_t n = match_colons(text, at); n > 0) return kind = "host", n;
  return match_learned(text, at, kind);
}

std::string Redactor::replacement(std::string_view kind, std::string_view original) {
  ++m_counts[std::string(kind)];
  std::string& word = m_words[fmt::format("{}\n{}", kind, lower(original))];
  if (word.empty()) word = fmt::format("redacted-{}-{}", kind, ++m_numbers[std::string(kind)]);
  return word;
}

std::string Redactor::text(std::string_view words) {
  std::string out;
  out.reserve(words.size());
  for (std::size_t at = 0; at < words.size();) {
    std::string_view kind;
    if (const std::size_t length = match(words, at, kind); length > 0) {
      out += replacement(kind, words.substr(at, length));
      at += length;
    } else {
      out += words[at++];
    }
  }
  return out;
}

Json Redactor::json(const Json& value) {
  if (value.is_string()) return text(value.get<std::string>());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(json(item));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, member] : value.items()) out[text(key)] = json(member);
  return out;
}

}  // namespace wb
