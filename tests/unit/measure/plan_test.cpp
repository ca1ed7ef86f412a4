// SPDX-License-Identifier: MIT
#include "measure/plan.hpp"

#include <cmath>
#include <functional>

#include "core/json.hpp"
#include "measure/conditions.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Turn a_turn() {
  Turn turn;
  turn.subject = "cpu_tiled@1f0c44aa";
  turn.instance = 3;
  turn.placement = 2;
  turn.round = 7;
  turn.position = 5;
  turn.samples_us = {12.25, 0.1, 1e-3, 98765.4321};
  turn.calls_per_sample = 64;
  turn.wall_us = 10'234.5;
  turn.flags = {"not_settled"};
  return turn;
}

}  // namespace

TEST_CASE("ABBA order forward and back", "[measure][unit]") {
  using Order = std::vector<std::size_t>;
  CHECK(abba_order(2, 0) == Order{0, 1, 1, 0});
  CHECK(abba_order(2, 1) == Order{1, 0, 0, 1});
  CHECK(abba_order(3, 4) == Order{0, 1, 2, 2, 1, 0});
  CHECK(abba_order(3, 5) == Order{2, 1, 0, 0, 1, 2});
  CHECK(abba_order(1, 0) == Order{0, 0});
  CHECK(abba_order(0, 0).empty());
}

TEST_CASE("In ABBA order every subject has the same mean place", "[measure][unit]") {
  for (std::size_t subjects = 1; subjects <= 6; ++subjects) {
    for (std::int64_t round = 0; round < 2; ++round) {
      const auto order = abba_order(subjects, round);
      std::vector<std::size_t> sums(subjects, 0);
      for (std::size_t at = 0; at < order.size(); ++at) sums[order[at]] += at;
      for (const std::size_t sum : sums) CHECK(sum == 2 * subjects - 1);
    }
  }
}

TEST_CASE("Plan words are frozen", "[measure][unit]") {
  for (const PlanKind kind : {PlanKind::hot, PlanKind::cold, PlanKind::eager}) {
    CHECK(parse_plan_kind(to_string(kind)) == kind);
  }
  CHECK(to_string(PlanKind::eager) == "eager");
  CHECK_FALSE(parse_plan_kind("warm"));
  CHECK(to_string(Regime::sustained) == "sustained");
  CHECK(parse_regime("burst") == Regime::burst);
  CHECK_FALSE(parse_regime(""));
}

TEST_CASE("Plan, effort and turn survive JSON text", "[measure][unit]") {
  Plan plan;
  plan.kind = PlanKind::cold;
  plan.regime = Regime::sustained;
  plan.settle_us = 123.456;
  plan.timed_us = 0.1;
  plan.min_samples = 4;
  plan.max_samples = 4;
  const auto text_of = [](const Json& json) { return *parse_json(json.dump(), "test"); };
  CHECK(*plan_from_json(text_of(to_json(plan))) == plan);
  const Effort effort{5, 3, 10};
  CHECK(*effort_from_json(text_of(to_json(effort))) == effort);
  CHECK(*turn_from_json(text_of(to_json(a_turn()))) == a_turn());
}

TEST_CASE("Absent numbers of a plan keep their defaults", "[measure][unit]") {
  const auto plan = plan_from_json(Json{{"kind", "hot"}});
  REQUIRE(plan.ok());
  CHECK(*plan == Plan{});
  CHECK(*effort_from_json(Json::object()) == Effort{});
}

TEST_CASE("Plans refuse what they do not mean", "[measure][unit]") {
  const auto refused = [](const char* key, const Json& value) {
    Json json = to_json(Plan{});
    json[key] = value;
    const auto plan = plan_from_json(json);
    CAPTURE(key, value.dump());
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.error().message().find(key) != std::string::npos);
  };
  refused("kind", "warm");
  refused("kind", 3);
  refused("regime", "calm");
  refused("settle_us", -1);
  refused("settle_us", "5");
  refused("timed_us", 0);
  refused("timed_us", 1e12);
  refused("min_samples", 0);
  refused("max_samples", 1);
  refused("warmup", 1);
  CHECK_FALSE(plan_from_json(Json::array()).ok());
  CHECK_FALSE(plan_from_json(Json::object()).ok());
  CHECK_FALSE(effort_from_json(Json{{"instances", 0}}).ok());
  CHECK_FALSE(effort_from_json(Json{{"rounds", 2.5}}).ok());
}

TEST_CASE("Turns refuse what is no turn", "[measure][unit]") {
  const auto refused = [](const char* key, const std::function<void(Json&)>& change) {
    Json json = to_json(a_turn());
    change(json);
    const auto turn = turn_from_json(json);
    CAPTURE(key, json.dump());
    REQUIRE_FALSE(turn.ok());
    CHECK(turn.error().message().find(key) != std::string::npos);
  };
  for (const char* key : {"subject", "instance", "placement", "round", "position", "samples_us",
                          "calls_per_sample", "wall_us"}) {
    refused(key, [key](Json& json) { json.erase(key); });
  }
  refused("samples_us", [](Json& json) { json["samples_us"] = Json::array({1, "2"}); });
  refused("samples_us", [](Json& json) { json["samples_us"] = Json::array({1, nullptr}); });
  refused("samples_us", [](Json& json) { json["samples_us"] = {{"0", 1}}; });
  refused("samples_us", [](Json& json) { json["samples_us"] = std::vector<double>(100'001, 1.0); });
  refused("calls_per_sample", [](Json& json) { json["calls_per_sample"] = 0; });
  refused("wall_us", [](Json& json) { json["wall_us"] = -0.5; });
  refused("flags", [](Json& json) { json["flags"] = "foreign_load"; });
  refused("extra", [](Json& json) { json["extra"] = 1; });
}

TEST_CASE("has_flag looks for the whole word", "[measure][unit]") {
  CHECK(has_flag(a_turn(), k_flag_not_settled));
  CHECK_FALSE(has_flag(a_turn(), "settled"));
}

namespace {

GpuConditions some_conditions() {
  GpuConditions conditions;
  conditions.readings = 3;
  conditions.sm_clock_mhz = ReadingRange{1'905, 1'950, 1'980};
  conditions.power_w = ReadingRange{300, 350, 400.5};
  conditions.clocks_event_reasons = {"sw_power_cap"};
  conditions.other_processes = OtherProcesses{2, 1, 4096.0};
  conditions.unknown = {{"temperature_c", "Not Supported (3)"}};
  return conditions;
}

std::string refusal_of(const Json& json) {
  const auto read = gpu_conditions_from_json(json);
  REQUIRE_FALSE(read.ok());
  return read.error().message();
}

}  // namespace

TEST_CASE("Conditions and settings survive JSON", "[measure][unit]") {
  CHECK(*gpu_conditions_from_json(to_json(some_conditions())) == some_conditions());
  CHECK(*gpu_conditions_from_json(to_json(GpuConditions{})) == GpuConditions{});
  GpuConditions nothing_held_it;
  nothing_held_it.clocks_event_reasons.emplace();
  CHECK(gpu_conditions_from_json(to_json(nothing_held_it))->clocks_event_reasons);
  const GpuSettings settings{"580.65.06", false, 1'980, 3'201, 700, {{"a", "b"}}};
  CHECK(*gpu_settings_from_json(to_json(settings)) == settings);
  CHECK(*gpu_settings_from_json(to_json(GpuSettings{})) == GpuSettings{});
}

TEST_CASE("A turn keeps its conditions, and older turns have none", "[measure][unit]") {
  Turn turn;
  turn.subject = "a@1";
  turn.samples_us = {1};
  CHECK_FALSE(to_json(turn).contains("conditions"));
  CHECK(*turn_from_json(to_json(turn)) == turn);
  turn.conditions = some_conditions();
  CHECK(*turn_from_json(to_json(turn)) == turn);
  Json json = to_json(turn);
  json["conditions"]["readings"] = "3";
  CHECK_FALSE(turn_from_json(json).ok());
}

TEST_CASE("Conditions refuse what is none", "[measure][unit][hostile]") {
  Json json = to_json(some_conditions());
  json["sm_clock_mhz"]["mean"] = 2'000;
  CHECK(refusal_of(json).find("mean") != std::string::npos);
  json = to_json(some_conditions());
  json["power_w"].erase("high");
  CHECK(refusal_of(json).find("high") != std::string::npos);
  json = to_json(some_conditions());
  json["other_processes"]["count"] = -1;
  CHECK(refusal_of(json).find("count") != std::string::npos);
  json = to_json(some_conditions());
  json["unknown"]["x"] = 1;
  CHECK(refusal_of(json).find("unknown") != std::string::npos);
  json = to_json(some_conditions());
  json["fan"] = 1;
  CHECK(refusal_of(json).find("fan") != std::string::npos);
  CHECK_FALSE(gpu_settings_from_json(Json{{"power_limit_w", "700"}}).ok());
  CHECK_FALSE(gpu_settings_from_json(Json{{"persistence_mode", 1}}).ok());
}

TEST_CASE("Conditions of several turns are one", "[measure][unit]") {
  GpuConditions all = some_conditions();
  GpuConditions more;
  more.readings = 1;
  more.sm_clock_mhz = ReadingRange{1'500, 1'550, 1'600};
  more.temperature_c = ReadingRange{40, 40, 40};
  more.clocks_event_reasons = {"hw_slowdown", "sw_power_cap"};
  more.other_processes = OtherProcesses{1, std::nullopt, 9'000.0};
  merge(all, more);
  CHECK(all.readings == 4);
  CHECK(all.sm_clock_mhz == ReadingRange{1'500, (3 * 1'950 + 1'550) / 4.0, 1'980});
  CHECK(all.power_w == ReadingRange{300, 350, 400.5});
  CHECK(all.temperature_c == ReadingRange{40, 40, 40});
  CHECK(all.clocks_event_reasons == std::vector<std::string>{"hw_slowdown", "sw_power_cap"});
  CHECK(all.other_processes == OtherProcesses{2, 1, 9'000.0});
  CHECK(has_slowdown(all));
  CHECK_FALSE(has_slowdown(some_conditions()));
  merge(all, GpuConditions{});
  CHECK(all.clocks_event_reasons->size() == 2);
}

TEST_CASE("Heat and hardware slow a GPU down, a power cap and settings do not", "[measure][unit]") {
  for (const char* word :
       {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"}) {
    CHECK(is_slowdown(word));
  }
  for (const char* word : {"sw_power_cap", "applications_clocks_setting", "sync_boost",
                           "display_clock_setting", "unknown_0x200", ""}) {
    CHECK_FALSE(is_slowdown(word));
  }
}
