// SPDX-License-Identifier: MIT
// Whether a noise floor can serve, and what it lets nobody see. Pure; the engine asks when a
// session opens and before it compares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/statistics.hpp"

namespace wb::measure {

/// Two sets of processes of one code further apart than this hide every gain that a session is
/// opened for; single processes that far apart are those of a machine that does other work.
inline constexpr double k_most_floor_frac = 0.10, k_most_between_frac = 0.50;

/// Why a floor cannot serve, in one clause, or nothing. `disturbed`: places of its turns in which
/// no turn was clean.
std::optional<std::string> unfit_reason(const NoiseFloor& floor, bool disturbed);

/// The true gain that a comparison of so many processes a side shows about every second time: (1 +
/// floor) exp(t(n - 1) s sqrt(2 / n)) - 1. Unknown without a floor or with fewer than 2 processes.
double smallest_gain_frac(const NoiseFloor& floor, std::int64_t instances);

}  // namespace wb::measure
