// SPDX-License-Identifier: MIT
// Plans: how a subject is timed (hot, cold, eager) and how turns are ordered. Pure values; the
// worker carries them out, the engine chooses them, the report names them. See
// docs/contracts/measurement.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "measure/conditions.hpp"

namespace wb::measure {

enum class PlanKind { hot, cold, eager };
enum class Regime { burst, sustained };
std::string_view to_string(PlanKind value);
std::string_view to_string(Regime value);
Regime opposite(Regime value);  ///< the other regime
std::optional<PlanKind> parse_plan_kind(std::string_view word);
std::optional<Regime> parse_regime(std::string_view word);

/// One turn: untimed calls of the subject for at least settle_us, then samples of `calls` calls
/// each (hot) or one call (cold, eager) until both timed_us of measured time and min_samples are
/// reached.
struct Plan {
  PlanKind kind = PlanKind::hot;
  Regime regime = Regime::burst;
  double settle_us = 5'000;
  double timed_us = 10'000;
  std::int64_t min_samples = 3;
  std::int64_t max_samples = 200;

  friend bool operator==(const Plan&, const Plan&) = default;
};
Json to_json(const Plan& plan);
/// `kind` is required; absent numbers keep the defaults above; unknown keys are refused.
Result<Plan> plan_from_json(const Json& json);

/// How much to measure. Instances are fresh processes, placements are fresh buffer sets in one
/// process, a round is one ABBA pass over all subjects.
struct Effort {
  std::int64_t instances = 1, placements = 1, rounds = 2;

  friend bool operator==(const Effort&, const Effort&) = default;
};
Json to_json(const Effort& effort);
Result<Effort> effort_from_json(const Json& json);

/// One block of timed samples of one subject at one position of the order.
struct Turn {
  std::string subject;  ///< id of the subject ("cpu_tiled@1f0c44aa", "torch_cpu")
  std::int64_t instance = 0, placement = 0, round = 0, position = 0;
  std::vector<double> samples_us;  ///< time per call
  std::int64_t calls_per_sample = 1;
  double wall_us = 0;              ///< around the timed part, by the supervisor's clock
  std::vector<std::string> flags;  ///< k_flag_* below; unknown words are kept
  std::optional<GpuConditions> conditions = {};  ///< on a GPU

  friend bool operator==(const Turn&, const Turn&) = default;
};
Json to_json(const Turn& turn);
/// Samples must be finite numbers; code that uses them checks that they are usable times.
Result<Turn> turn_from_json(const Json& json);

/// The flags of a turn. foreign_load, throttled, cpu_throttled, fewer_cpus, cold_below_hot and
/// not_idle keep a turn out of the figures.
inline constexpr std::string_view k_flag_resolution_limited = "resolution_limited";
inline constexpr std::string_view k_flag_not_settled = "not_settled";
inline constexpr std::string_view k_flag_foreign_load = "foreign_load";
/// Set beside foreign_load: no other process had the CPUs; threads of the subject waited for each
/// other.
inline constexpr std::string_view k_flag_own_threads = "own_threads";
/// On a GPU: heat or the hardware lowered the clocks (has_slowdown).
inline constexpr std::string_view k_flag_throttled = "throttled";
/// A control group used up its CPU quota and was stopped during timed calls.
inline constexpr std::string_view k_flag_cpu_throttled = "cpu_throttled";
/// The cpuset has shrunk: fewer CPUs than when the worker counted its threads.
inline constexpr std::string_view k_flag_fewer_cpus = "fewer_cpus";
/// On a GPU: other processes hold a compute context, and whether they use it is unknown.
inline constexpr std::string_view k_flag_foreign_process = "foreign_process";
/// A cold time well below the same code's hot time: the caches were not cold, or the time is wrong.
inline constexpr std::string_view k_flag_cold_below_hot = "cold_below_hot";
/// The subject used CPU time between the cache flush and a cold call.
inline constexpr std::string_view k_flag_not_idle = "not_idle";
[[nodiscard]] bool has_flag(const Turn& turn, std::string_view flag);
/// True when the flags keep the samples out of the figures: the machine was disturbed, or the
/// samples are no times of the plan.
[[nodiscard]] bool is_disturbed(const std::vector<std::string>& flags);

/// ABBA order of one round: subjects 0..n-1 forward, then backward; odd rounds start reversed.
/// Returns indices into the subjects, length 2 n.
std::vector<std::size_t> abba_order(std::size_t subjects, std::int64_t round);

}  // namespace wb::measure
