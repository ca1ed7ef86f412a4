// SPDX-License-Identifier: MIT
// The exponentials of oracle and std, many at a time: they were a third of what a verdict costs.
#pragma once

#include <cstdint>

#include "problem/isa.hpp"

namespace wb::problem {

/// values[i] = exp(values[i]), within one unit in the last place; the same bits on every host.
/// Below the least normal number 0, above the largest infinity; NaN stays. `isa`: one that this
/// host has.
void exponentials(double* values, std::int64_t count, Isa isa = widest_isa());
/// The same in double, then rounded, as the GPU's judge has it.
void exponentials(float* values, std::int64_t count, Isa isa = widest_isa());

}  // namespace wb::problem
