// SPDX-License-Identifier: MIT
// The figure of a timed block, by the supervisor's clock. A subject's own samples only describe
// their spread; they never make it faster than that clock allows. Pure functions;
// docs/contracts/measurement.md has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/turn_plan.hpp"

namespace wb::worker {

/// Round-trip times of empty messages, by the supervisor's clock.
struct Pings {
  double least_us = 0, median_us = 0, most_us = 0;
};
/// Pings per turn.
inline constexpr int k_pings = 20;

/// Caps each time at `most_us`, so that a subject which answers slowly on purpose gains no more
/// than that. `times_us` may be empty.
Pings pings_of(std::vector<double> times_us, double most_us);
/// The most that a subject's message may take: twice the slowest ping of an empty subject on this
/// machine, plus 20 us. Infinite when that ping is unknown (0).
double most_ping_us(double empty_ping_us);

/// The clock readings of one block.
struct BlockFacts {
  std::span<const double> samples_us;  ///< per call, by the subject's clock; all positive
  std::int64_t calls = 1;              ///< in the whole block
  double own_us = 0;                   ///< by the supervisor's clock, messages included
};

/// BlockFacts::own_us. On a GPU it starts at "started", since the subject queues calls before, and
/// excludes the delay of the judge's copy, which is the witness's matter: that delay was a late
/// message in one block of eight (H200) and lengthened figures of 13 us by up to a tenth.
double own_us_of(const BlockTime& time, Clock clock);

/// A lower bound for the time of a call in this block: its time less the slowest ping and, on a
/// GPU, less the cost of a block's start and end. At least 0; 0 for a GPU block shorter than
/// k_witness_block_us, which no witness checks.
double block_bound_us(const BlockFacts& block, const Pings& pings, Clock clock);

/// Microseconds per call. On a CPU whose pings differ by less than 0.3 % of the block: the
/// supervisor's time less the median ping. Else the median of the samples, or their mean if the
/// median is below 0.85 of it. Never below the bound.
double block_figure_us(const BlockFacts& block, const Pings& pings, Clock clock);

/// The samples of a turn, at most `max_samples`. Where a block's own samples have another or a
/// smaller median than its figure, they are adjusted so that the turn's median is the median of the
/// blocks' figures.
std::vector<double> samples_of_blocks(std::span<const BlockFacts> blocks, const Pings& pings,
                                      Clock clock, std::int64_t max_samples);

/// A call with cold caches does all the work of one with warm caches. Below this share of the warm
/// time its caches were not cold, or its time is wrong.
inline constexpr double k_cold_least_frac = 0.97;
/// hot_us: the lowest hot figure of the same code on the same problem; 0: none.
bool is_below_hot(double cold_us, double hot_us);

}  // namespace wb::worker
