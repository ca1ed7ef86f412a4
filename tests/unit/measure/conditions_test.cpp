// SPDX-License-Identifier: MIT
#include "measure/conditions.hpp"
#include "core/json.hpp"

#include "measure/plan.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

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
