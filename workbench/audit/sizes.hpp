// SPDX-License-Identifier: MIT
// Private to audit: words for the sizes of a problem, and cells that hold several. Used by
// facts.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "audit/facts.hpp"

namespace wb::audit {

/// "heads", "seq_len", "d" …, in lower case.
std::optional<Role> size_of(std::string_view word);
/// The size that a role stands for; nullptr where it is none.
double* member(Shape& shape, Role role);
/// "B=1,H=8" in a cell, or "1x16x512x64" below a header that names the sizes.
Shape shape_of_cell(const std::string& header, const std::string& cell);

}  // namespace wb::audit
