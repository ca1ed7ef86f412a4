// SPDX-License-Identifier: MIT
// Private to audit: words for the sizes of a problem, and cells with several sizes. Used by
// facts.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "audit/facts.hpp"

namespace wb::audit {

/// "heads", "seq_len", "d" …, in lower case.
std::optional<Role> size_of(std::string_view word);
/// The member for that role; nullptr when the role is no size.
double* member(Shape& shape, Role role);
/// "B=1,H=8" in a cell, or "1x16x512x64" under a header that names the sizes.
Shape shape_of_cell(const std::string& header, const std::string& cell);

}  // namespace wb::audit
