// SPDX-License-Identifier: MIT
// Files that a user names: outputs to write, and reports to read for `audit` and `import report`.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::engine {
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// Writes to the user's path (write_output). Errors: those of it; usage (a file that a session
/// needs, such as its log).
Result<void> write_named(const engine::Services& services, const fs::path& path,
                         std::string_view bytes, Durability durability);

/// `doing`: the purpose, for messages. Errors: usage (a folder), not_found, limit, invalid (no
/// UTF-8), io.
Result<std::string> read_report(const engine::Services& services, const fs::path& path,
                                const char* doing);

}  // namespace wb::verbs
