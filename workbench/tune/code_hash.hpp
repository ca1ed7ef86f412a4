// SPDX-License-Identifier: MIT
// The hash of an artifact's code, apart from its name: two configurations whose macros lead to the
// same code have equal ones, so a tune measures them once.
#pragma once

#include <string>
#include <string_view>

namespace wb::tune {

/// SHA-256 of a shared library with every occurrence of `build_id` (what WB_BUILD_ID said) and the
/// linker's own build-id note, which hashes it, blanked. Equal hashes mean equal bytes otherwise.
std::string code_hash(std::string_view library, std::string_view build_id);

}  // namespace wb::tune
