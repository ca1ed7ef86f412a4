// SPDX-License-Identifier: MIT
#include "measure/plan.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace wb::measure {
namespace {

constexpr std::array<std::pair<PlanKind, std::string_view>, 3> k_plan_words{{
    {PlanKind::hot, "hot"},
    {PlanKind::cold, "cold"},
    {PlanKind::eager, "eager"},
}};
constexpr std::array<std::pair<Regime, std::string_view>, 2> k_regime_words{{
    {Regime::burst, "burst"},
    {Regime::sustained, "sustained"},
}};

constexpr std::int64_t k_max_samples = 100'000;
constexpr std::int64_t k_max_index = 1'000'000;
constexpr std::int64_t k_max_calls = 1'000'000'000;
constexpr double k_max_time_us = 3.6e9;  // an hour; a longer plan is a mistake

void read_time(ObjectReader& reader, std::string_view key, double& value, bool zero_allowed) {
  value = reader.real_or(key, value);
  const bool in_range = (zero_allowed ? value >= 0 : value > 0) && value <= k_max_time_us;
  if (!in_range) reader.fail(key, "must be microseconds up to one hour");
}

std::vector<double> read_samples(ObjectReader& reader) {
  std::vector<double> samples;
  const Json* list = reader.member("samples_us");
  if (list == nullptr || !list->is_array()) {
    reader.fail("samples_us", "must be a list of numbers");
    return samples;
  }
  if (list->size() > static_cast<std::size_t>(k_max_samples)) {
    reader.fail("samples_us", "has more than 100000 samples");
    return samples;
  }
  samples.reserve(list->size());
  for (const Json& item : *list) {
    const double value = item.is_number() ? item.get<double>() : std::nan("");
    if (!std::isfinite(value)) {
      reader.fail("samples_us", "must hold finite numbers only");
      break;
    }
    samples.push_back(value);
  }
  return samples;
}

}  // namespace

std::string_view to_string(PlanKind value) {
  return k_plan_words.at(static_cast<std::size_t>(value)).second;
}

std::string_view to_string(Regime value) {
  return k_regime_words.at(static_cast<std::size_t>(value)).second;
}

Regime opposite(Regime value) {
  return value == Regime::burst ? Regime::sustained : Regime::burst;
}

std::optional<PlanKind> parse_plan_kind(std::string_view word) {
  for (const auto& [value, text] : k_plan_words) {
    if (text == word) return value;
  }
  return std::nullopt;
}

std::optional<Regime> parse_regime(std::string_view word) {
  for (const auto& [value, text] : k_regime_words) {
    if (text == word) return value;
  }
  return std::nullopt;
}

Json to_json(const Plan& plan) {
  return Json{{"kind", to_string(plan.kind)},    {"regime", to_string(plan.regime)},
              {"settle_us", plan.settle_us},     {"timed_us", plan.timed_us},
              {"min_samples", plan.min_samples}, {"max_samples", plan.max_samples}};
}

Result<Plan> plan_from_json(const Json& json) {
  ObjectReader reader(json, "a plan");
  Plan plan;
  const auto kind = parse_plan_kind(reader.string("kind"));
  const auto regime = parse_regime(reader.string_or("regime", "burst"));
  if (!kind) reader.fail("kind", "must be hot, cold or eager");
  if (!regime) reader.fail("regime", "must be burst or sustained");
  read_time(reader, "settle_us", plan.settle_us, true);
  read_time(reader, "timed_us", plan.timed_us, false);
  plan.min_samples = reader.integer_or("min_samples", plan.min_samples, 1, k_max_samples);
  plan.max_samples = reader.integer_or("max_samples", plan.max_samples, 1, k_max_samples);
  if (plan.max_samples < plan.min_samples) {
    reader.fail("max_samples", "must not be below min_samples");
  }
  WB_TRY(reader.finish());
  plan.kind = *kind;
  plan.regime = *regime;
  return plan;
}

Json to_json(const Effort& effort) {
  return Json{{"instances", effort.instances},
              {"placements", effort.placements},
              {"rounds", effort.rounds}};
}

Result<Effort> effort_from_json(const Json& json) {
  ObjectReader reader(json, "an effort");
  Effort effort;
  effort.instances = reader.integer_or("instances", effort.instances, 1, 1'000);
  effort.placements = reader.integer_or("placements", effort.placements, 1, 1'000);
  effort.rounds = reader.integer_or("rounds", effort.rounds, 1, 100'000);
  WB_TRY(reader.finish());
  return effort;
}

Json to_json(const Turn& turn) {
  Json json{{"subject", turn.subject},
            {"instance", turn.instance},
            {"placement", turn.placement},
            {"round", turn.round},
            {"position", turn.position},
            {"samples_us", turn.samples_us},
            {"calls_per_sample", turn.calls_per_sample},
            {"wall_us", turn.wall_us},
            {"flags", turn.flags}};
  if (turn.conditions) json["conditions"] = to_json(*turn.conditions);
  return json;
}

Result<Turn> turn_from_json(const Json& json) {
  ObjectReader reader(json, "a turn");
  Turn turn;
  turn.subject = reader.string("subject");
  turn.instance = reader.integer("instance", 0, k_max_index);
  turn.placement = reader.integer("placement", 0, k_max_index);
  turn.round = reader.integer("round", 0, k_max_index);
  turn.position = reader.integer("position", 0, k_max_index);
  turn.samples_us = read_samples(reader);
  turn.calls_per_sample = reader.integer("calls_per_sample", 1, k_max_calls);
  turn.wall_us = reader.real("wall_us");
  if (!(turn.wall_us >= 0)) reader.fail("wall_us", "must not be negative");
  turn.flags = reader.strings_or("flags", {});
  if (const Json* conditions = reader.member("conditions")) {
    WB_TRY_ASSIGN(turn.conditions, gpu_conditions_from_json(*conditions));
  }
  WB_TRY(reader.finish());
  return turn;
}

bool has_flag(const Turn& turn, std::string_view flag) {
  return std::find(turn.flags.begin(), turn.flags.end(), flag) != turn.flags.end();
}

bool is_disturbed(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag == k_flag_foreign_load || flag == k_flag_throttled ||
           flag == k_flag_cpu_throttled || flag == k_flag_fewer_cpus ||
           flag == k_flag_cold_below_hot || flag == k_flag_not_idle;
  });
}

std::vector<std::size_t> abba_order(std::size_t subjects, std::int64_t round) {
  std::vector<std::size_t> order;
  order.reserve(2 * subjects);
  for (std::size_t i = 0; i < subjects; ++i) {
    order.push_back(round % 2 == 0 ? i : subjects - 1 - i);
  }
  for (std::size_t i = subjects; i > 0; --i) order.push_back(order[i - 1]);
  return order;
}

}  // namespace wb::measure
