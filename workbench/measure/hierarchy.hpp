// SPDX-License-Identifier: MIT
// The nested shape of timed turns (instances, placements in them, rounds in those) as log values,
// and the bootstrap over it. Private to measure; statistics.hpp is what others use.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/plan.hpp"

namespace wb::measure::hierarchy {

/// Where a turn stands: turns of two subjects with equal cells were measured in one ABBA pass.
struct Cell {
  std::int64_t instance = 0, placement = 0, round = 0;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

/// ln of the turn medians in one cell, in order of position: the passes of one ABBA round.
using CellLogs = std::map<Cell, std::vector<double>>;

/// Why these turns cannot be used, in one clause; nothing when they can. Disturbed turns
/// (is_disturbed) are no fault here, unless they are everywhere.
std::optional<std::string> unusable(std::span<const Turn> turns);

/// Turns must be usable. Disturbed ones are left out.
CellLogs cell_logs(std::span<const Turn> turns);

/// Cells in which a turn was disturbed.
std::set<Cell> disturbed_cells(std::span<const Turn> turns);
/// By what: "foreign load", "a throttled GPU" or both; "" for none.
std::string disturbance_words(std::initializer_list<std::span<const Turn>> sides);

/// Disturbances may take at most a quarter of what was measured; more is an environment fault.
[[nodiscard]] bool too_much_disturbed(std::size_t disturbed, std::size_t all);

/// One process: placements, rounds in each, values (one per pass) in each of those.
struct Cluster {
  using Round = std::vector<double>;
  using Placement = std::vector<Round>;
  std::int64_t instance = 0;
  std::vector<Placement> placements;

  [[nodiscard]] std::int64_t rounds() const;
};
std::vector<Cluster> clusters(const CellLogs& values);

/// Median over all passes of the process: a disturbed turn or placement hardly moves it, and a
/// linear drift shifts as many passes up as down, so it cancels as in a mean.
double center(const Cluster& cluster);
std::vector<double> centers(std::span<const Cluster> clusters);

double mean(std::span<const double> values);
/// n - 1 in the denominator; 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

/// Median in place; `values` is reordered and must not be empty.
double median_of(std::vector<double>& values);

/// What is drawn with replacement: whole instances (their centers already carry the noise of their
/// turns; drawing turns again would count it twice), or placements and whole rounds (each with both
/// its passes) inside the given instances.
enum class Level { instances, rounds };

/// Standard deviation, over `resamples` draws, of the mean of centers.
double bootstrap_error(std::span<const Cluster> clusters, Level level, int resamples,
                       std::uint64_t seed);

/// sqrt(n / (n - 1)) for n >= 2, else 1: a bootstrap of n units spreads too little by this factor.
double small_count_factor(std::size_t count);

}  // namespace wb::measure::hierarchy
