// SPDX-License-Identifier: MIT
// Text files from foreign editors: with a byte order mark, with Windows or old Mac line ends, or in
// another encoding. Used by the readers of playbooks, agent files and tables; JSON has its own
// rules (parse_json).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb {

/// Removes a UTF-8 byte order mark and turns all line ends into "\n". Line numbers stay the same.
std::string plain_text(std::string_view bytes);

/// Guesses an encoding other than UTF-8 from the first bytes, for messages ("UTF-16, not UTF-8");
/// empty when none is recognized.
std::string_view foreign_encoding(std::string_view bytes);

/// Reads a file as plain text. `doing` is for messages: "read the playbook". Errors: those of
/// reading, invalid (another encoding).
Result<std::string> read_plain_text(const FileSystem& files, const fs::path& path,
                                    std::uint64_t max_bytes, std::string_view doing);

}  // namespace wb
