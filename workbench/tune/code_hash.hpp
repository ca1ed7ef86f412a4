// SPDX-License-Identifier: MIT
// The hash of an artifact's code without its build id: configurations whose macros give the same
// code have equal hashes, so a tune measures them once.
#pragma once

#include <string>
#include <string_view>

namespace wb::tune {

/// SHA-256 of a shared library in which every occurrence of `build_id` (the value of WB_BUILD_ID)
/// and the linker's build-id note, which hashes it, are blanked.
std::string code_hash(std::string_view library, std::string_view build_id);

}  // namespace wb::tune
