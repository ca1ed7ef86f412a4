// SPDX-License-Identifier: MIT
// Private to trace: the two sections of the findings page that are tables alone.
#pragma once

#include <string>

#include "core/json.hpp"

namespace wb::trace {

/// Every kernel of every operation; of paged attention also their shares as a whole, with flags.
std::string kernel_section(const Json& metrics);
/// Sizes, heads and tokens of every operation.
std::string workload_section(const Json& metrics);

}  // namespace wb::trace
