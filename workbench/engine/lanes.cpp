// SPDX-License-Identifier: MIT
#include "engine/lanes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "measure/roofline.hpp"

namespace wb::engine {

using measure::PlanKind;
using measure::Turn;

namespace {

struct Disturbance {
  std::string_view flag, cause, cure;
};
constexpr std::array<Disturbance, 4> k_disturbances{{
    {measure::k_flag_cpu_throttled, "the CPU quota of its control group stopped it",
     "lift the quota (`sdpa-wb doctor` names its file) or give whole CPUs instead of it"},
    {measure::k_flag_fewer_cpus, "it may use fewer CPUs than when the worker started",
     "widen the cpuset again or start anew"},
    {measure::k_flag_foreign_load, "other processes used the CPUs or the GPU",
     "let the machine be quiet"},
    {measure::k_flag_throttled, "heat or its hardware slowed the GPU down",
     "see to its cooling and power"},
}};

}  // namespace

std::vector<Turn> same_code_turns(const Lane& first, const Lane& second) {
  std::vector<Turn> turns;
  for (Turn turn : first.turns) {
    turn.instance = 2 * turn.instance;
    turns.push_back(std::move(turn));
  }
  for (Turn turn : second.turns) {
    turn.instance = 2 * turn.instance + 1;
    turns.push_back(std::move(turn));
  }
  return turns;
}

double lane_median_us(const Lane& lane) {
  if (lane.turns.empty()) return measure::k_unknown;
  return measure::summarize(lane.turns, k_bootstrap_seed).median_us;
}

Json figure_or_null(double value) {
  return std::isfinite(value) && value > 0 ? Json(value) : Json(nullptr);
}

std::string why_no_figure(const Lane& lane) {
  if (lane.failure) return lane.failure->message;
  return lane.turns.empty() ? "no turn counts" : "";
}

std::vector<std::string> flags_of(const Lane& one, const Lane& other) {
  std::set<std::string> flags;
  for (const Lane* lane : {&one, &other}) {
    for (const Turn& turn : lane->turns) flags.insert(turn.flags.begin(), turn.flags.end());
  }
  return {flags.begin(), flags.end()};
}

std::optional<measure::GpuConditions> conditions_of(const Lane& lane) {
  std::optional<measure::GpuConditions> all;
  for (const Turn& turn : lane.turns) {
    if (!turn.conditions) continue;
    if (all) measure::merge(*all, *turn.conditions);
    if (!all) all = turn.conditions;
  }
  return all;
}

Json conditions_of(const Lane& candidate, const Lane& against) {
  Json both;
  if (const auto conditions = conditions_of(candidate)) both["candidate"] = to_json(*conditions);
  if (const auto conditions = conditions_of(against)) both["against"] = to_json(*conditions);
  return both;
}

void refuse_impossible(const Context& context, const problem::Problem& problem, PlanKind plan,
                       Lane& lane) {
  if (!context.hello || lane.failure || lane.turns.empty()) return;
  const measure::RooflineFloor floor =
      measure::roofline_floor(context.hello->device, problem, problem::work(problem));
  if (auto reason = measure::refuse_below_roofline(floor, plan, lane_median_us(lane))) {
    lane.failure = Failure{Invalidity::runtime, "refused: " + *reason, ""};
  }
}

void fail_if_disturbed(Lane& lane) {
  if (lane.failure || lane.disturbed_by.empty() || !lane.turns.empty()) return;
  if (lane.disturbed_by.contains(measure::k_flag_own_threads)) {
    lane.failure =
        Failure{Invalidity::environment,
                "in every turn threads of the variant waited for each other's CPU, and "
                "nobody else had the CPUs; start no more threads than args->threads, let "
                "none spin, or give the session more CPUs",
                ""};
    return;
  }
  std::vector<std::string_view> causes, cures;
  for (const Disturbance& one : k_disturbances) {
    if (!lane.disturbed_by.contains(one.flag)) continue;
    causes.push_back(one.cause);
    cures.push_back(one.cure);
  }
  if (causes.empty()) {
    lane.failure = Failure{Invalidity::environment,
                           "no turn counts: its cold calls were faster than its hot ones, or it "
                           "used CPU time between the flush of the caches and the call",
                           ""};
    return;
  }
  lane.failure = Failure{Invalidity::environment,
                         fmt::format("{} in every turn; {} and try again",
                                     fmt::join(causes, ", or "), fmt::join(cures, ", ")),
                         ""};
}

}  // namespace wb::engine
