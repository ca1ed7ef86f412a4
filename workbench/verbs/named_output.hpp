// SPDX-License-Identifier: MIT
// Writes files that a user named as output.
#pragma once

#include <string_view>

#include "core/files.hpp"
#include "engine/verb.hpp"

namespace wb::verbs {

/// Writes to the user's path (write_output). Errors: those of it; usage (a file that a session
/// needs, such as its log).
Result<void> write_named(const engine::Services& services, const fs::path& path,
                         std::string_view bytes, Durability durability);

}  // namespace wb::verbs
