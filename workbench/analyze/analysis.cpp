// SPDX-License-Identifier: MIT
#include "analyze/analysis.hpp"

#include <array>
#include <iterator>
#include <utility>

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;

// One analysis per file of that name. Declare and list a new one here.
std::vector<Finding> analyze_call_cost(const Evidence& evidence);
std::vector<Finding> analyze_clocks(const Evidence& evidence);
std::vector<Finding> analyze_grid_check(const Evidence& evidence);
std::vector<Finding> analyze_grid_scaling(const Evidence& evidence);
std::vector<Finding> analyze_intensity(const Evidence& evidence);
std::vector<Finding> analyze_key_walk(const Evidence& evidence);
std::vector<Finding> analyze_launch(const Evidence& evidence);
std::vector<Finding> analyze_parallelism(const Evidence& evidence);
std::vector<Finding> analyze_profile(const Evidence& evidence);
std::vector<Finding> analyze_reference_check(const Evidence& evidence);
std::vector<Finding> analyze_regime(const Evidence& evidence);
std::vector<Finding> analyze_register_limit(const Evidence& evidence);
std::vector<Finding> analyze_roofline_share(const Evidence& evidence);
std::vector<Finding> analyze_scaling(const Evidence& evidence);
std::vector<Finding> analyze_working_set(const Evidence& evidence);

namespace {

// First doubts about figures, then what limits the time, then the reasons, then constant facts.
constexpr std::array<Analysis, 15> k_analyses{{
    {"clocks", "whether a GPU's clock was another for one side of a comparison", analyze_clocks},
    {"reference_check", "whether the times that others are held against depend on the work",
     analyze_reference_check, true},
    {"regime", "what bounds each problem on this device: launch, latency, memory or compute",
     analyze_regime},
    {"roofline_share", "how much of the device's peak each subject reaches, and the headroom",
     analyze_roofline_share},
    {"call_cost", "what a call from the host takes beside one that was captured",
     analyze_call_cost},
    {"grid_scaling", "whether the grid misses batch and heads", analyze_grid_scaling},
    {"grid_check", "the grid and block of each launch as seen, against what the heads need",
     analyze_grid_check},
    {"key_walk", "whether the keys are walked one after another", analyze_key_walk},
    {"parallelism", "whether too few blocks can be the only cause of a slow subject",
     analyze_parallelism},
    {"scaling", "how time grows with work where the problems vary one size", analyze_scaling},
    {"launch", "SMs that the launched blocks reach, waves, and how often they ask for K and V",
     analyze_launch},
    {"profile", "what Nsight Compute saw, or that it was not let in", analyze_profile},
    {"register_limit", "the most warps that registers allow", analyze_register_limit},
    {"intensity", "FLOP per byte phase by phase and whole, beside the ridge of the device",
     analyze_intensity, true},
    {"working_set", "what of K, V and all tensors fits into which memory", analyze_working_set,
     true},
}};

}  // namespace

std::span<const Analysis> analyses() {
  return k_analyses;
}

std::vector<Finding> analyze(const Evidence& evidence, AnalysisScope scope) {
  std::vector<Finding> all;
  for (const Analysis& analysis : analyses()) {
    if (analysis.once && scope == AnalysisScope::of_candidate) continue;
    std::vector<Finding> found = analysis.run(evidence);
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace wb::analyze
