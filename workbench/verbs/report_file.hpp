// SPDX-License-Identifier: MIT
// Reads a foreign report as text, for `audit` and `import report`.
#pragma once

#include <string>

#include "core/files.hpp"
#include "engine/verb.hpp"

namespace wb::verbs {

/// `doing`: the purpose, for messages. Errors: usage (a folder), not_found, limit, invalid (no
/// UTF-8), io.
Result<std::string> read_report(const engine::Services& services, const fs::path& path,
                                const char* doing);

}  // namespace wb::verbs
