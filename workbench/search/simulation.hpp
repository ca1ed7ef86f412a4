// SPDX-License-Identifier: MIT
// Simulation: a strategy run against a recording instead of a device, with budgets, builds ahead of
// the measuring side, early stop and duplicates as in a tune. Pure and deterministic by seed. For
// tests, documentation and choosing a strategy. docs/guide/simulation.md.
#pragma once

#include "search/recording.hpp"
#include "search/strategy.hpp"

namespace wb::search {

struct SimulationOptions {
  std::uint64_t seed = 1;                        ///< which recorded processes and rounds are seen
  std::optional<std::int64_t> evaluations = {};  ///< answers, duplicates and failures included
  std::optional<double> seconds = {};            ///< simulated; the answer under way is finished
  std::size_t builders = 1;                      ///< builds at a time, beside the measuring side
  std::size_t ahead = 4;                         ///< builds kept ahead of the one that is needed
  EarlyStop early_stop = {};
  int resamples = 2'000;  ///< of each comparison
};

struct SimulationStep {
  variant::Configuration configuration;
  Score score;
  variant::Configuration
      promising;  ///< Strategy::promising() after this; empty while there is none
  double promising_us = measure::k_unknown;  ///< its recorded median
  double fraction_of_optimum = 0;            ///< optimum's median / promising_us; 0 without one
  double elapsed_s = 0;                      ///< simulated, since the start
};

struct SimulationResult {
  std::vector<SimulationStep> steps;  ///< one an answer
  double elapsed_s = 0, measuring_s = 0;
  double waiting_s = 0;  ///< the measuring side waited for a build
  std::uint64_t builds = 0, builds_unused = 0;
  std::uint64_t duplicates = 0, stopped_early = 0;
  Standing standing;
};

/// Runs until the strategy has no question or a budget is spent. The strategy's space must be the
/// recording's: else, or for no builder, std::invalid_argument.
SimulationResult simulate(const Recording& recording, Strategy& strategy,
                          const SimulationOptions& options);

}  // namespace wb::search
