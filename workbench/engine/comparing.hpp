// SPDX-License-Identifier: MIT
// What is made of lanes: comparisons by the session's floors, and their events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "engine/objective.hpp"
#include "engine/timing.hpp"
#include "search/strategy.hpp"

namespace wb::engine {

/// Compares two lanes by the session's floors; ambiguous with the reason when one failed, is empty
/// or lies below the roofline. With an ask: at the confidence that its strategy wants.
measure::Comparison compare_lanes(const Context& context, const problem::Problem& problem,
                                  measure::PlanKind plan, const Lane& candidate,
                                  std::string_view candidate_label, const Lane& other,
                                  std::string_view other_label, const search::Ask* ask = nullptr);

/// NoiseFloor::between_instance_frac of the problem and plan; 0 when it was not measured.
double same_margin(const Context& context, const problem::Problem& problem, measure::PlanKind plan);

struct ComparisonContext {
  const TimingRequest& request;  ///< whose phase, and regime where no iteration says it, are logged
  std::string role;              ///< "incumbent" or "rival"
  measure::PlanKind plan = measure::PlanKind::hot;
  std::pair<std::int64_t, std::int64_t> turns;
  std::vector<std::string> flags;  ///< of any turn of either side
  Json conditions = {};            ///< of the two sides' turns (conditions_of); null: no GPU
  Json regimes = {};               ///< BothRegimes::figures; null: timed in one only
  Json fresh = {};                 ///< of a FreshOutcome; null: nothing to be said
};
/// Logs comparison_made. problem empty: the objective over the suite.
Result<std::int64_t> log_comparison(Context& context, const measure::Comparison& comparison,
                                    const std::optional<problem::Problem>& problem,
                                    const ComparisonContext& where, double candidate_us,
                                    double against_us);

/// One opponent over the suite under one plan.
struct SuiteScore {
  measure::PlanKind plan;
  std::size_t subject;  ///< of TimingRequest::subjects; 1 is the incumbent, 2… are rivals
  std::vector<ProblemScore> scores;
  measure::Comparison total;
  bool is_logged = true;  ///< not of a rival that does not take the whole suite
};
struct OtherRegime;  // regimes.hpp
/// Compares subject 0 with the subjects from `first_opponent` on: on every problem and plan, then
/// over the suite; each is a comparison_made event. The comparison that decides, with the incumbent
/// under the objective's plan, comes last in the log. `other`: decides with it, problem by problem.
Result<std::vector<SuiteScore>> log_comparisons(Context& context, const TimingRequest& request,
                                                const TimingResult& result,
                                                std::size_t first_opponent,
                                                const OtherRegime* other = nullptr);

}  // namespace wb::engine
