// SPDX-License-Identifier: MIT
#include "core/plain_text.hpp"

namespace wb {

std::string plain_text(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool is_return = bytes[at] == '\r';
    if (is_return && at + 1 < bytes.size() && bytes[at + 1] == '\n') continue;
    text += is_return ? '\n' : bytes[at];
  }
  return text;
}

std::string_view foreign_encoding(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\xff\xfe\0\0"sv) || bytes.starts_with("\0\0\xfe\xff"sv)) {
    return "UTF-32, not UTF-8";
  }
  // With a byte order mark, blanks and line ends have a zero byte, which Latin-1 text does not.
  if ((bytes.starts_with("\xff\xfe"sv) || bytes.starts_with("\xfe\xff"sv)) &&
      bytes.find('\0') != std::string_view::npos) {
    return "UTF-16, not UTF-8";
  }
  // Without one, every other byte of plain letters is zero.
  const bool is_wide = bytes.size() >= 4 && (bytes[0] == '\0') != (bytes[1] == '\0') &&
                       (bytes[0] == '\0') == (bytes[2] == '\0') &&
                       (bytes[1] == '\0') == (bytes[3] == '\0');
  return is_wide ? "UTF-16, not UTF-8" : "";
}

Result<std::string> read_plain_text(const FileSystem& files, const fs::path& path,
                                    std::uint64_t max_bytes, std::string_view doing) {
  WB_TRY_ASSIGN(const std::string bytes, files.read(path, max_bytes));
  const std::string_view encoding = foreign_encoding(bytes);
  if (encoding.empty()) return plain_text(bytes);
  return Error{ErrorCode::invalid, std::string(doing), path.string(),
               "it is " + std::string(encoding), "save it as UTF-8"};
}

}  // namespace wb
