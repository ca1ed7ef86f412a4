// SPDX-License-Identifier: MIT
// Text files as other people's editors write them: with a byte order mark, with lines that end as
// on Windows or on an old Mac, or in another encoding. Used by the readers of playbooks, agents'
// files and tables; JSON has rules of its own (parse_json).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb {

/// Without a byte order mark of UTF-8, and with lines that end in "\n". Lines keep their numbers.
std::string plain_text(std::string_view bytes);

/// Which encoding other than UTF-8 the bytes begin like, for messages ("UTF-16, not UTF-8"); empty
/// where none is seen.
std::string_view foreign_encoding(std::string_view bytes);

/// The plain text of a file. `doing` is for messages: "read the playbook". Errors: those of
/// reading, invalid (another encoding).
Result<std::string> read_plain_text(const FileSystem& files, const fs::path& path,
                                    std::uint64_t max_bytes, std::string_view doing);

}  // namespace wb
