// SPDX-License-Identifier: MIT
// The nested structure of timed turns (instances, their placements, their rounds) as log times, and
// the bootstrap over it. Private to measure; others use statistics.hpp.
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

/// The position of a turn: turns of two subjects with equal cells were measured in one ABBA pass.
struct Cell {
  std::int64_t instance = 0, placement = 0, round = 0;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

/// ln of the turn medians in one cell, by position: the passes of one ABBA round.
using CellLogs = std::map<Cell, std::vector<double>>;

/// Why these turns are unusable, in one clause, or nothing. Disturbed turns (is_disturbed) count
/// only when all are disturbed.
std::optional<std::string> unusable(std::span<const Turn> turns);

/// Requires usable turns; leaves out disturbed ones.
CellLogs cell_logs(std::span<const Turn> turns);

/// Cells in which a turn was disturbed.
std::set<Cell> disturbed_cells(std::span<const Turn> turns);
/// The kinds of disturbance: "foreign load", "a throttled GPU" or both; "" for none.
std::string disturbance_words(std::initializer_list<std::span<const Turn>> sides);

/// True when more than a quarter is disturbed, which is an environment fault.
[[nodiscard]] bool too_much_disturbed(std::size_t disturbed, std::size_t all);

/// One process: placements, their rounds, and the values (one per pass) of each round.
struct Cluster {
  using Round = std::vector<double>;
  using Placement = std::vector<Round>;
  std::int64_t instance = 0;
  std::vector<Placement> placements;

  [[nodiscard]] std::int64_t rounds() const;
};
std::vector<Cluster> clusters(const CellLogs& values);

/// Median over all passes of the process. A disturbed turn or placement hardly moves it, and a
/// linear drift cancels as in a mean, since it shifts as many passes up as down.
double center(const Cluster& cluster);
std::vector<double> centers(std::span<const Cluster> clusters);

double mean(std::span<const double> values);
/// With n - 1 in the denominator; 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

/// Reorders `values`, which must not be empty.
double median_of(std::vector<double>& values);

/// What the bootstrap draws with replacement: whole instances (their centers already carry the
/// noise of their turns, and drawing turns too would count it twice), or placements and whole
/// rounds (each with both passes) inside the given instances.
enum class Level { instances, rounds };

/// Standard deviation of the mean of centers over `resamples` draws.
double bootstrap_error(std::span<const Cluster> clusters, Level level, int resamples,
                       std::uint64_t seed);

/// sqrt(n / (n - 1)) for n >= 2, else 1: the factor by which a bootstrap of n units spreads too
/// little.
double small_count_factor(std::size_t count);

}  // namespace wb::measure::hierarchy
