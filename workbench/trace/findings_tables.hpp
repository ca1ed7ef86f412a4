// SPDX-License-Identifier: MIT
// Private to trace: the sections of the findings page that are only tables.
#pragma once

#include <string>

#include "core/json_fwd.hpp"

namespace wb::trace {

/// The profiler's times of one call of every operation, on the GPU and on the host.
std::string call_section(const Json& metrics);
/// Every kernel of every operation; for paged attention also the kernels' shares of the whole, with
/// flags.
std::string kernel_section(const Json& metrics);
/// Sizes, heads and tokens of every operation.
std::string workload_section(const Json& metrics);

}  // namespace wb::trace
