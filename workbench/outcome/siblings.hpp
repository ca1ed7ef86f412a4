// SPDX-License-Identifier: MIT
// Two variants of a session that win on different problems: one property of the problems that tells
// them apart without an exception, or none. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "problem/problem.hpp"

namespace wb::outcome {

struct Outcome;

/// A problem on which one of two variants is shown faster.
struct Contest {
  problem::Problem problem;
  bool first_won = false;
};

struct Contrast {
  std::string above, below;  ///< labels; `above` is ahead where the property has its larger values
  /// "blocks" (of 64 query rows), "Skv", "Sq", "D", "B*Hq", "causal" or "mask".
  std::string property;
  std::int64_t from = 0;  ///< the least value on which `above` won; 1 of causal and mask
  std::int64_t to = 0;    ///< the largest value on which `below` won
  std::size_t ahead = 0, behind = 0;  ///< problems that `above` won and lost
  /// "a@1 ahead from 64 blocks on, b@2 up to 16 (4 and 3 problems)".
  [[nodiscard]] std::string words() const;
};

/// Fewer wins of either side separate by chance.
inline constexpr std::size_t k_least_wins = 2;
inline constexpr std::size_t k_most_contrasts = 5;

/// The first property, in the order above, that separates the wins of the two; nothing when none
/// does or either won fewer than k_least_wins.
std::optional<Contrast> contrast_of(const std::string& first, const std::string& second,
                                    const std::vector<Contest>& contests);

/// Those of the suite's variants that were measured on the same problems, on most problems first,
/// at most k_most_contrasts. A win is a comparison with the start, or figures over the start whose
/// intervals lie apart. Held-out problems are left out.
std::vector<Contrast> contrasts_of(const Outcome& outcome);

Json to_json(const Contrast& contrast);

}  // namespace wb::outcome
