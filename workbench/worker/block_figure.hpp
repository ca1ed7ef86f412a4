// SPDX-License-Identifier: MIT
// The figure of a timed block, by the supervisor's clock: what a subject says of its samples serves
// for their spread, and never makes it faster than that clock allows. Pure functions;
// docs/contracts/measurement.md has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/turn_plan.hpp"

namespace wb::worker {

/// Messages with nothing between question and answer, as the supervisor's clock saw them.
struct Pings {
  double least_us = 0, median_us = 0, most_us = 0;
};
/// How many are taken for a turn.
inline constexpr int k_pings = 20;

/// None above `most_us`, whatever the subject made of it: who answers slowly on purpose gains no
/// more than that. `times_us` may be empty.
Pings pings_of(std::vector<double> times_us, double most_us);
/// What a subject's messages may take, by those of an empty subject on the same machine: twice its
/// slowest, and 20 us. Infinite where that is unknown (0).
double most_ping_us(double empty_ping_us);

/// What a block's own clocks say.
struct BlockFacts {
  std::span<const double> samples_us;  ///< per call, the subject's; all positive
  std::int64_t calls = 1;              ///< of the whole block
  double own_us = 0;                   ///< the supervisor's, messages and all
};

/// BlockFacts::own_us. On a GPU from "started" on, as the subject queues calls before, and without
/// what the judge's copy came late: that is for the witness. It was a late message in one block of
/// eight (H200), and lengthened the figures of 13 us by up to a tenth.
double own_us_of(const BlockTime& time, Clock clock);

/// Below this a call of that block did not take: its time less the slowest ping and, on a GPU, what
/// a block's start and end may take. At least 0; that for a block of a GPU that no witness sees, as
/// it is shorter than k_witness_block_us.
double block_bound_us(const BlockFacts& block, const Pings& pings, Clock clock);

/// Microseconds of a call. On a CPU, where the pings differ by less than 0.3 % of the block: the
/// supervisor's time less the median ping. Else the median of the samples, or their mean where the
/// median lies below 0.85 of that; never below the bound.
double block_figure_us(const BlockFacts& block, const Pings& pings, Clock clock);

/// The samples of a turn, at most `max_samples` of them, so that their median is the median of the
/// blocks' figures wherever a block's own samples told another, or a smaller one, than its figure.
std::vector<double> samples_of_blocks(std::span<const BlockFacts> blocks, const Pings& pings,
                                      Clock clock, std::int64_t max_samples);

/// A call with cold caches does all that one with warm ones does: below 0.97 of that it was not
/// cold, or its time is none.
inline constexpr double k_cold_least_frac = 0.97;
/// hot_us: the least hot figure of the same code on the same problem; 0: there is none.
bool is_below_hot(double cold_us, double hot_us);

}  // namespace wb::worker
