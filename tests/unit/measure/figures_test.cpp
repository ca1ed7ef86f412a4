// SPDX-License-Identifier: MIT
#include <cmath>

#include "core/json.hpp"
#include "measure/figures.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Comparison a_comparison() {
  Comparison comparison;
  comparison.candidate = "cpu_tiled@1f0c44aa";
  comparison.rival = "torch_cpu";
  comparison.speedup = 1.25;
  comparison.interval = {1.2, 1.3, 0.99};
  comparison.noise_floor_frac = 0.012;
  comparison.outcome = ComparisonOutcome::faster;
  comparison.reason = "clear";
  comparison.instances = 5;
  comparison.rounds = 10;
  comparison.instance_log_speedups = {0.1, 0.2, 0.3, 0.2, 0.1};
  comparison.least_half_log = 0.02;
  return comparison;
}

Json through_text(const Json& json) {
  return *parse_json(json.dump(), "test");
}

}  // namespace

TEST_CASE("Statistics survive JSON text", "[measure][unit]") {
  const Json comparison = to_json(a_comparison());
  CHECK(to_json(*comparison_from_json(through_text(comparison))) == comparison);
  const Measurement measurement{10.5, 12, 9.75, {10, 11, 0.99}, 5, 20, 180};
  CHECK(to_json(*measurement_from_json(through_text(to_json(measurement)))) ==
        to_json(measurement));
  NoiseFloor floor;
  floor.floor_frac = 0.01;
  floor.between_instance_frac = 0.05;
  floor.instance_sd_frac = 0.013;
  floor.placement_sd_frac = 0.014;
  floor.within_frac = 0.002;
  floor.instances = 5;
  floor.turns = 20;
  floor.degrees_of_freedom = 4;
  CHECK(to_json(*noise_floor_from_json(through_text(to_json(floor)))) == to_json(floor));
}

TEST_CASE("Unknown figures are null and come back unknown", "[measure][unit]") {
  Comparison unknown = a_comparison();
  unknown.speedup = k_unknown;
  unknown.interval = {k_unknown, k_unknown, 0.99};
  const Json json = through_text(to_json(unknown));
  CHECK(json["speedup"].is_null());
  CHECK(json["interval"]["low"].is_null());
  const auto back = comparison_from_json(json);
  REQUIRE(back.ok());
  CHECK(std::isnan(back->speedup));
  CHECK_FALSE(is_valid(back->interval));
  const auto floor = noise_floor_from_json(through_text(to_json(NoiseFloor{})));
  REQUIRE(floor.ok());
  CHECK(std::isnan(floor->between_instance_frac));
}

TEST_CASE("Outcome words are frozen", "[measure][unit]") {
  for (const auto outcome : {ComparisonOutcome::faster, ComparisonOutcome::slower,
                             ComparisonOutcome::same, ComparisonOutcome::ambiguous}) {
    CHECK(parse_comparison_outcome(to_string(outcome)) == outcome);
  }
  CHECK(to_string(ComparisonOutcome::ambiguous) == "ambiguous");
  CHECK_FALSE(parse_comparison_outcome("better"));
}

TEST_CASE("Readers of statistics are strict", "[measure][unit]") {
  const auto refused = [](const char* key, const Json& value) {
    Json json = to_json(a_comparison());
    json[key] = value;
    CAPTURE(key, value.dump());
    CHECK_FALSE(comparison_from_json(json).ok());
  };
  refused("outcome", "better");
  refused("speedup", "1.2");
  refused("interval", nullptr);
  refused("interval", {{"low", 2}, {"high", 1}, {"confidence", 0.99}});
  refused("interval", {{"low", 1}, {"high", 2}, {"confidence", 1.5}});
  refused("interval", {{"low", 1}, {"high", 2}});
  refused("instances", -1);
  refused("instance_log_speedups", {{"a", 1}});
  refused("instance_log_speedups", Json::array({nullptr}));
  refused("least_half_log", -0.1);
  refused("extra", 1);
  const Json whole = to_json(a_comparison());
  for (const auto& [key, value] : whole.items()) {
    if (key == "reason" || key == "instance_log_speedups" || key == "least_half_log") continue;
    Json json = whole;
    json.erase(key);
    CAPTURE(key);
    CHECK_FALSE(comparison_from_json(json).ok());
  }
}
