// SPDX-License-Identifier: MIT
// Whether a noise floor is usable, and which gains it hides. Pure functions; the engine asks when a
// session opens and before it compares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/figures.hpp"

namespace wb::measure {

/// Limits of a usable floor: a larger floor would hide every gain that a session looks for, and
/// single processes further apart than k_most_between_frac mean a machine that does other work.
inline constexpr double k_most_floor_frac = 0.10, k_most_between_frac = 0.50;

/// Why a floor is unusable, in one clause, or nothing. `disturbed`: some cells of its turns had no
/// clean turn.
std::optional<std::string> unfit_reason(const NoiseFloor& floor, bool disturbed);

/// The true gain that a comparison with this many processes a side detects about every second time:
/// (1 + floor) exp(t(n - 1) s sqrt(2 / n)) - 1. Unknown without a floor or with fewer than 2
/// processes.
double smallest_gain_frac(const NoiseFloor& floor, std::int64_t instances);

}  // namespace wb::measure
