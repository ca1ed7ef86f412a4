// SPDX-License-Identifier: MIT
#include "session/identifying.hpp"

#include <algorithm>
#include <array>

#include "core/ascii.hpp"

namespace wb::session::identifying {
namespace {

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}
char before(std::string_view text, std::size_t at) {
  return at == 0 ? '\0' : text[at - 1];
}

/// Bytes beyond ASCII are letters, except the quotes and dashes that compilers and people put
/// around names.
bool is_in_letter(std::string_view text, std::size_t at) {
  std::size_t first = at;
  while (first > 0 && at - first < 3 && (static_cast<unsigned char>(text[first]) & 0xC0u) == 0x80) {
    --first;
  }
  const std::string_view rest = text.substr(first);
  static constexpr std::array k_between =
      std::to_array<std::string_view>({"\xE2\x80", "\xE3\x80", "\u00A0", "\u00AB", "\u00BB"});
  return std::none_of(k_between.begin(), k_between.end(),
                      [&](std::string_view sign) { return rest.starts_with(sign); });
}

// Paths
// --------------------------------------------------------------------------------------------

bool is_path_at(std::string_view text, std::size_t at) {
  return is_word_at(text, at) || (at < text.size() && is_one_of(text[at], "/.-+@%~=#\\"));
}

/// "</b>"
bool closes_tag(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (ascii::is_alpha(text[end]) || ascii::is_digit(text[end]))) ++end;
  return before(text, at) == '<' && end > at + 1 && end < text.size() && text[end] == '>';
}

/// True when this '/' begins an absolute path, and does not join two words or close a tag.
bool begins_path(std::string_view text, std::size_t at) {
  const char left = before(text, at);
  if (closes_tag(text, at)) return false;
  if (left == '\0' || ascii::is_space(left) || is_one_of(left, "\"'`()[]{}=:,;|>&!*<@")) {
    return true;
  }
  if (static_cast<unsigned char>(left) >= 0x80) return !follows_word(text, at);
  // "-I/usr/include", or after a line end in JSON text: "\x01n/usr/include".
  return ascii::is_alpha(left) && at >= 2 &&
         (text[at - 2] == '\\' || (text[at - 2] == '-' && !follows_word(text, at - 2)));
}

std::size_t match_path(std::string_view text, std::size_t at) {
  if (text[at] != '/' || !begins_path(text, at)) return 0;
  std::size_t end = at + 1;
  while (is_path_at(text, end)) ++end;
  while (end > at && is_one_of(text[end - 1], "./\\")) --end;
  const std::string_view path = text.substr(at, end - at);
  // Excludes "/s" of a rate, and files that every Linux has.
  bool names_something = false;
  for (std::size_t i = at; i < end; ++i) names_something |= is_word_at(text, i);
  const bool is_neutral = path == "/proc/meminfo" || path == "/proc/cpuinfo" || path == "/dev/null";
  return path.size() >= 3 && names_something && !path.starts_with("//") && !is_neutral ? path.size()
                                                                                       : 0;
}

// Addresses
// --------------------------------------------------------------------------------------------

std::size_t match_ipv4(std::string_view text, std::size_t at) {
  if (at >= text.size() || !ascii::is_digit(text[at]) || follows_word(text, at) ||
      before(text, at) == '.') {
    return 0;
  }
  std::size_t end = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (end >= text.size() || text[end++] != '.')) return 0;
    int value = 0;
    const std::size_t begin = end;
    while (end < text.size() && ascii::is_digit(text[end]) && end - begin < 4) {
      value = value * 10 + (text[end++] - '0');
    }
    if (end == begin || value > 255) return 0;
  }
  const bool goes_on = is_word_at(text, end) || (end + 1 < text.size() && text[end] == '.' &&
                                                 ascii::is_digit(text[end + 1]));
  return goes_on ? 0 : end - at;
}

/// The length of a host name with at least one dot and a last part of letters; or of localhost.
std::size_t match_domain(std::string_view text, std::size_t at) {
  std::size_t end = at, last_dot = std::string_view::npos;
  while (is_word_at(text, end) || (end < text.size() && is_one_of(text[end], "-."))) {
    if (text[end] == '.') {
      if (!is_word_at(text, end + 1)) break;
      last_dot = end;
    }
    ++end;
  }
  if (text.substr(at, end - at) == "localhost") return end - at;
  if (last_dot == std::string_view::npos || last_dot == at || end - last_dot < 3) return 0;
  const std::string_view top = text.substr(last_dot + 1, end - last_dot - 1);
  return std::none_of(top.begin(), top.end(), ascii::is_digit) ? end - at : 0;
}

bool is_local_at(std::string_view text, std::size_t at) {
  return is_word_at(text, at) || (at < text.size() && is_one_of(text[at], ".+-%\\"));
}

/// Matches from the local part's first character. The host must have a dot, or be an IPv4 address
/// or localhost, since "cpu_tiled@1f0c44aa" is a label.
std::size_t match_email(std::string_view text, std::size_t at) {
  if (!is_local_at(text, at) || text[at] == '.' || (at > 0 && is_local_at(text, at - 1))) return 0;
  std::size_t end = at;
  while (is_local_at(text, end)) ++end;
  if (end >= text.size() || text[end] != '@') return 0;
  ++end;
  const std::size_t host = std::max(match_domain(text, end), match_ipv4(text, end));
  return host == 0 ? 0 : end + host - at;
}

std::size_t match_url(std::string_view text, std::size_t at) {
  if (!ascii::is_alpha(text[at]) || follows_word(text, at)) return 0;
  std::size_t end = at;
  while (end < text.size() && (ascii::is_alpha(text[end]) || text[end] == '+')) ++end;
  if (text.substr(end, 3) != "://") return 0;
  end += 3;
  const std::size_t begin = end;
  while (end < text.size() && !ascii::is_space(text[end]) &&
         !is_one_of(text[end], "\"'`<>()[]{}|")) {
    ++end;
  }
  while (end > begin && is_one_of(text[end - 1], ".,;:!?")) --end;
  return end > begin ? end - at : 0;
}

/// IPv6 (eight groups, or three and more with one "::") and hardware addresses (six pairs).
std::size_t match_colons(std::string_view text, std::size_t at) {
  if (!ascii::is_hex_digit(text[at]) || follows_word(text, at) || before(text, at) == ':') return 0;
  std::size_t end = at, group = 0;
  int colons = 0, doubles = 0, pairs = 0;
  for (; end < text.size() && (ascii::is_hex_digit(text[end]) || text[end] == ':'); ++end) {
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
  if (is_word_at(text, end)) return 0;
  const bool is_ipv6 = (colons == 7 && doubles == 0) || (doubles == 1 && colons >= 3);
  const bool is_hardware = colons == 5 && pairs == 6;
  return is_ipv6 || is_hardware ? end - at : 0;
}

/// "GPU-f52003be-70bb-…": NVIDIA's serial id of one board.
std::size_t match_board(std::string_view text, std::size_t at) {
  constexpr std::size_t k_length = 40;
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    if (!text.substr(at).starts_with(prefix) || follows_word(text, at)) continue;
    const std::string_view id = text.substr(at + prefix.size(), k_length - prefix.size());
    if (id.size() == k_length - prefix.size() && std::all_of(id.begin(), id.end(), [](char c) {
          return ascii::is_hex_digit(c) || c == '-';
        })) {
      return k_length;
    }
  }
  return 0;
}

}  // namespace

bool is_word_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  if (static_cast<unsigned char>(c) >= 0x80) return is_in_letter(text, at);
  return ascii::is_alpha(c) || ascii::is_digit(c) || c == '_';
}

bool follows_word(std::string_view text, std::size_t at) {
  return at > 0 && is_word_at(text, at - 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii::lower);
  return out;
}

bool is_common(std::string_view word) {
  static constexpr std::array k_common = std::to_array<std::string_view>(
      {"sdpa-wb", "localhost", "local", "root", "user", "users", "admin", "ubuntu", "debian",
       "runner", "build", "builder", "test", "work", "home", "docker", "exec", "ssh", "sudo",
       "kubectl", "guest", "nobody", "yes", "true", "false", "none", "auto",
       // Values that code reads from a log.
       "device", "compile_cpu", "tokens", "hot", "cold", "eager", "burst", "sustained", "win",
       "no_gain", "invalid", "abandoned", "baseline", "pass", "fail", "selection", "confirmation",
       "tune", "client", "playbook"});
  return std::find(k_common.begin(), k_common.end(), lower(word)) != k_common.end();
}

std::string user_of_home(std::string_view text, std::size_t after) {
  std::size_t end = after;
  while (is_word_at(text, end) || (end < text.size() && is_one_of(text[end], "-."))) ++end;
  return std::string(text.substr(after, end - after));
}

Match match_form(std::string_view text, std::size_t at) {
  if (const std::size_t n = match_url(text, at); n > 0) return {n, "url"};
  if (const std::size_t n = match_email(text, at); n > 0) return {n, "email"};
  if (const std::size_t n = match_path(text, at); n > 0) return {n, "path"};
  if (const std::size_t n = match_board(text, at); n > 0) return {n, "host"};
  if (const std::size_t n = match_ipv4(text, at); n > 0) return {n, "host"};
  return {match_colons(text, at), "host"};
}

}  // namespace wb::session::identifying
