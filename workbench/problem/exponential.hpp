// SPDX-License-Identifier: MIT
// Vectorized exponentials for oracle and std, where they took a third of a verdict's time.
#pragma once

#include <cstdint>

#include "problem/isa.hpp"

namespace wb::problem {

/// values[i] = exp(values[i]), within one unit in the last place; the same bits on every host.
/// Gives 0 below the least normal number and infinity above the largest; NaN stays. `isa` must be
/// one that this host supports.
void exponentials(double* values, std::int64_t count, Isa isa = widest_isa());
/// Computes in double, then rounds to float, as the GPU's judge does.
void exponentials(float* values, std::int64_t count, Isa isa = widest_isa());

}  // namespace wb::problem
