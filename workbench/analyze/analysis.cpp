// SPDX-License-Identifier: MIT
#include "analyze/analysis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "core/json_fields.hpp"

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

// Which findings a reader should see first
// --------------------------------------------------------------

namespace {

/// The further findings of one analysis say less than its first.
constexpr double k_next_of_its_kind = 0.6;
/// What is found of others than the subject that the reader asks about.
constexpr double k_other_subject = 0.6;
/// Weights by rank: a doubt about the figures, a cause that was seen, a likely one, what bounds a
/// problem, and facts that hardly ever change a decision.
constexpr double k_doubt = 4, k_seen = 3.5, k_likely = 2.5, k_bound = 1.4, k_fact = 0.6;

double weight_of_word(std::string_view word) {
  if (word == "longer for less" || word == "other kernels" || word == "fixed cost") {
    return k_doubt;
  }
  if (word == "serial") return k_seen;
  if (word == "suspected" || word == "uneven") return k_likely;
  return k_fact;
}

double weight_of(const Finding& finding) {
  const Json& figures = finding.figures;
  const std::string_view analysis = finding.analysis;
  const auto number = [&](std::string_view key, double otherwise) {
    return number_of(figures, key).value_or(otherwise);
  };
  if (analysis == "clocks") return k_doubt;
  if (analysis == "reference_check") return weight_of_word(text_of(figures, "state"));
  if (analysis == "key_walk" || analysis == "grid_scaling" || analysis == "grid_check") {
    return weight_of_word(text_of(figures, "verdict"));
  }
  if (analysis == "roofline_share") {
    const double room = number("headroom_ratio", 1);
    return 1 + (room > 1 ? std::min(2.0, std::log10(room)) : 0);
  }
  if (analysis == "launch") return number("units_frac", 1) < 0.75 ? k_likely : k_fact;
  if (analysis == "call_cost") return number("eager_over_hot", 1) >= 1.5 ? k_likely : k_fact;
  if (analysis == "profile") return k_likely;
  if (analysis == "parallelism") {
    return text_of(figures, "parallelism_only") == "yes" ? k_likely : 1;
  }
  if (analysis == "register_limit") {
    return number("most_occupancy_frac", 1) < 0.25 ? k_bound : k_fact;
  }
  if (analysis == "regime") return k_bound;
  if (analysis == "intensity" || analysis == "working_set") return k_fact / 2;
  return 1;
}

/// Whether it is about a subject, not about a problem on this device or what all are held against.
bool is_about_subject(const Finding& finding) {
  constexpr std::array<std::string_view, 5> k_others{"clocks", "reference_check", "regime",
                                                     "intensity", "working_set"};
  return std::find(k_others.begin(), k_others.end(), finding.analysis) == k_others.end();
}

}  // namespace

std::vector<std::size_t> by_importance(const std::vector<Finding>& findings,
                                       std::string_view subject) {
  std::vector<double> weights;
  for (const Finding& finding : findings) {
    const std::string about = text_of(finding.figures, "subject");
    const bool is_other =
        !subject.empty() && !about.empty() && about != subject && is_about_subject(finding);
    weights.push_back(weight_of(finding) * (is_other ? k_other_subject : 1));
  }
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto heavier = [&weights](std::size_t a, std::size_t b) { return weights[a] > weights[b]; };
  std::stable_sort(order.begin(), order.end(), heavier);
  std::map<std::string, double, std::less<>> factors;
  for (const std::size_t at : order) {
    double& factor = factors.try_emplace(findings[at].analysis, 1.0).first->second;
    weights[at] *= factor;
    factor *= k_next_of_its_kind;
  }
  std::stable_sort(order.begin(), order.end(), heavier);
  return order;
}

}  // namespace wb::analyze
