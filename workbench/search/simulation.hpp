// SPDX-License-Identifier: MIT
// Simulation: runs a strategy against a recording instead of a device, with budgets, builds ahead
// of the measuring side, early stop and duplicates as in a tune. Pure, and deterministic by seed.
// For tests, documentation and choosing a strategy: docs/guide/simulation.md.
#pragma once

#include "search/recording.hpp"
#include "search/strategy.hpp"

namespace wb::search {

struct SimulationOptions {
  std::uint64_t seed = 1;                        ///< selects recorded processes and rounds
  std::optional<std::int64_t> evaluations = {};  ///< answers, including duplicates and failures
  std::optional<double> seconds = {};            ///< simulated; a running answer is finished
  std::size_t builders = 1;                      ///< parallel builds beside the measuring side
  std::size_t ahead = 4;                         ///< builds kept ahead of the needed one
  EarlyStop early_stop = {};
  int resamples = 2'000;  ///< of each comparison
};

struct SimulationStep {
  variant::Configuration configuration;
  Score score;
  variant::Configuration promising;  ///< Strategy::promising() after this step; empty without one
  double promising_us = measure::k_unknown;  ///< the recorded median of that configuration
  double fraction_of_optimum = 0;            ///< optimum's median / promising_us; 0 without one
  double elapsed_s = 0;                      ///< simulated time since the start
};

struct SimulationResult {
  std::vector<SimulationStep> steps;  ///< one per answer
  double elapsed_s = 0, measuring_s = 0;
  double waiting_s = 0;  ///< time that the measuring side waited for builds
  std::uint64_t builds = 0, builds_unused = 0;
  std::uint64_t duplicates = 0, stopped_early = 0;
  Standing standing;
};

/// Runs until the strategy has no question or a budget is used up. The strategy's space must be the
/// recording's and there must be a builder, else std::invalid_argument.
SimulationResult simulate(const Recording& recording, Strategy& strategy,
                          const SimulationOptions& options);

}  // namespace wb::search
