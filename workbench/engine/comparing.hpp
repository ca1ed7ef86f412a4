// SPDX-License-Identifier: MIT
// From lanes to comparisons: the figure of a lane or the reasons for having none, and comparisons
// by the session's noise floors, with their events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "engine/settings.hpp"
#include "engine/timing.hpp"
#include "search/strategy.hpp"

namespace wb::engine {

struct Context;

/// Seed of all resampling of turns; fixed, so that the same log gives the same report.
inline constexpr std::uint64_t k_bootstrap_seed = 20'250'101;

/// NaN when no turn counts, since 0 would be a figure.
double lane_median_us(const Lane& lane);
/// The value, or null when it is not finite or not above 0.
Json figure_or_null(double value);
/// Why there is no figure; empty where there is one.
std::string why_no_figure(const Lane& lane);
/// Two lanes of the same code as one list, with distinct instance numbers since they are distinct
/// processes.
std::vector<measure::Turn> same_code_turns(const Lane& first, const Lane& second);
/// {candidate, against}: GpuConditions of the turns of each that count.
Json conditions_of(const Lane& candidate, const Lane& against);
/// Conditions of all turns that count; nothing without a GPU.
std::optional<measure::GpuConditions> conditions_of(const Lane& lane);
std::vector<std::string> flags_of(const Lane& one, const Lane& other);  ///< sorted and unique
/// A time below the roofline cannot have been measured: such a lane gets no figure.
void refuse_impossible(const Context& context, const problem::Problem& problem,
                       measure::PlanKind plan, Lane& lane);
/// A lane without a clean turn gets no figure, and the failure is `environment`.
void fail_if_disturbed(Lane& lane);

/// Compares two lanes by the session's floors. Ambiguous, with the reason, when a lane failed, is
/// empty or lies below the roofline. With `ask`, at its strategy's confidence.
measure::Comparison compare_lanes(const Context& context, const problem::Problem& problem,
                                  measure::PlanKind plan, const Lane& candidate,
                                  std::string_view candidate_label, const Lane& other,
                                  std::string_view other_label, const search::Ask* ask = nullptr);

/// NoiseFloor::between_instance_frac of the problem and plan; 0 when not measured.
double same_margin(const Context& context, const problem::Problem& problem, measure::PlanKind plan);

struct ComparisonContext {
  const TimingRequest& request;  ///< its phase is logged, and its regime outside iterations
  std::string role;              ///< "incumbent" or "rival"
  measure::PlanKind plan = measure::PlanKind::hot;
  std::pair<std::int64_t, std::int64_t> turns;
  std::vector<std::string> flags;  ///< of all turns of both sides
  Json conditions = {};            ///< of both sides' turns (conditions_of); null without a GPU
  Json regimes = {};               ///< BothRegimes::figures; null when timed in one regime
  Json fresh = {};                 ///< a FreshOutcome; null when there is none
};
/// Logs comparison_made. Without `problem`, the comparison is the objective over the suite.
Result<std::int64_t> log_comparison(Context& context, const measure::Comparison& comparison,
                                    const std::optional<problem::Problem>& problem,
                                    const ComparisonContext& where, double candidate_us,
                                    double against_us);

/// The comparison of the candidate with one opponent over the suite under one plan.
struct SuiteScore {
  measure::PlanKind plan;
  std::size_t subject;  ///< index in TimingRequest::subjects: 1 is the incumbent, 2… are rivals
  std::vector<ProblemScore> scores;
  measure::Comparison total;
  bool is_logged = true;  ///< false for a rival that does not support the whole suite
};
struct OtherRegime;  // candidate_timing.hpp
/// Compares subject 0 with the subjects from `first_opponent` on, for every problem and plan and
/// then over the suite; logs comparison_made for each. The deciding comparison, with the incumbent
/// under the objective's plan, is logged last. `other` takes part in the decision of each problem.
Result<std::vector<SuiteScore>> log_comparisons(Context& context, const TimingRequest& request,
                                                const TimingResult& result,
                                                std::size_t first_opponent,
                                                const OtherRegime* other = nullptr);

}  // namespace wb::engine
