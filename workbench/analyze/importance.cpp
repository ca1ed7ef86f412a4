// SPDX-License-Identifier: MIT
// Which findings a reader should see first.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/analysis.hpp"
#include "core/json_fields.hpp"

namespace wb::analyze {

using measure::Finding;

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
