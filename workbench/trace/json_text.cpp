// SPDX-License-Identifier: MIT
// What stands in a text: strings of JSON without their escapes, and files that are no JSON at all.
#include "trace/json_scanner.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/ascii.hpp"

namespace wb::trace {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view k_save = "save it as UTF-8 without a byte order mark";
constexpr std::string_view k_unpack = "unpack it, and name the trace (.json or .json.gz) inside";
constexpr std::string_view k_export =
    "export the trace as Chrome JSON (export_chrome_trace of the PyTorch profiler)";

struct Mark {
  std::string_view bytes;
  ForeignText kind;
};

// clang-format off
constexpr std::array k_marks{
    Mark{"\xef\xbb\xbf"sv, {"it begins with a byte order mark, which JSON does not have", k_save}},
    Mark{"\xff\xfe"sv, {"it begins with the byte order mark of UTF-16, not UTF-8", k_save}},
    Mark{"\xfe\xff"sv, {"it begins with the byte order mark of UTF-16, not UTF-8", k_save}},
    Mark{"PK\x03\x04"sv, {"it is a zip archive, not a trace", k_unpack}},
    Mark{"PK\x05\x06"sv, {"it is an empty zip archive, not a trace", k_export}},
    Mark{"\x1f\x8b"sv, {"it is gzip inside of gzip", "unpack it once; .json.gz is read as it is"}},
    Mark{"\x28\xb5\x2f\xfd"sv, {"it is packed with zstd, not a trace", k_unpack}},
    Mark{"BZh"sv, {"it is packed with bzip2, not a trace", k_unpack}},
    Mark{"\xfd" "7zXZ"sv, {"it is packed with xz, not a trace", k_unpack}},
    Mark{"7z\xbc\xaf"sv, {"it is a 7z archive, not a trace", k_unpack}},
    Mark{"\x04\x22\x4d\x18"sv, {"it is packed with lz4, not a trace", k_unpack}},
    Mark{"SQLite format 3"sv, {"it is an SQLite file (of nsys, say), not a trace", k_export}},
    Mark{"\x89HDF"sv, {"it is an HDF5 file, not a trace", k_export}},
    Mark{"NVTX"sv, {"it is a report of a profiler of its own format, not a trace", k_export}},
    Mark{"%PDF"sv, {"it is a PDF file, not a trace", k_export}},
    Mark{"\x7f" "ELF"sv, {"it is a program, not a trace", "name the trace that it wrote"}},
    Mark{"\x80\x02"sv, {"it is a pickle of Python, not a trace", k_export}},
    Mark{"\x80\x04"sv, {"it is a pickle of Python, not a trace", k_export}},
    Mark{"version https://git-lfs"sv,
         {"it is a pointer of Git LFS, not the file it stands for", "run git lfs pull"}},
};
// clang-format on

}  // namespace

std::optional<ForeignText> foreign_text(std::string_view head) {
  for (const Mark& mark : k_marks) {
    if (head.starts_with(mark.bytes)) return mark.kind;
  }
  if (head.size() > 262 && head.substr(257, 5) == "ustar") {
    return ForeignText{"it is a tar archive, not a trace", k_unpack};
  }
  std::size_t at = 0;
  while (at < head.size() && ascii::is_space(head[at])) ++at;
  if (at == head.size()) {
    const bool whole = head.size() < k_kind_bytes;
    if (whole && at > 0)
      return ForeignText{"it holds nothing but blanks", "export the trace again"};
    return std::nullopt;
  }
  std::string low(head.substr(at));
  std::transform(low.begin(), low.end(), low.begin(), ascii::lower);
  if (low.starts_with("<!doctype html") || low.starts_with("<html") || low.starts_with("<head")) {
    return ForeignText{"it is a web page (HTML), not a trace",
                       "download the file itself, not the page that shows it"};
  }
  if (low.starts_with("<")) return ForeignText{"it is XML, not a trace", k_export};
  if (low.starts_with("{'") || low.starts_with("['")) {
    return ForeignText{"it is text of Python with single quotes, not JSON",
                       "write it with json.dump"};
  }
  if (low.starts_with("name,") || low.starts_with("\"name\",")) {
    return ForeignText{"it is a table (CSV), not a trace", k_export};
  }
  return std::nullopt;
}

namespace {

std::uint32_t hex4(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits) {
    const auto digit =
        static_cast<std::uint32_t>(c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::string unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      text += raw[i];
      continue;
    }
    const char c = raw[++i];
    constexpr std::string_view k_letters = "bfnrt", k_meanings = "\b\f\n\r\t";
    const std::size_t letter = k_letters.find(c);
    if (c != 'u') {
      text += letter == std::string_view::npos ? c : k_meanings[letter];
      continue;
    }
    std::uint32_t code = hex4(raw.substr(i + 1, 4));
    i += 4;
    const bool high = code >= 0xd800 && code < 0xdc00;
    if (high && raw.substr(i + 1, 2) == "\\u") {
      const std::uint32_t low = hex4(raw.substr(i + 3, 4));
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    append_utf8(text, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
  }
  return text;
}

}  // namespace wb::trace
