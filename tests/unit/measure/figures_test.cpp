// SPDX-License-Identifier: MIT
#include <cmath>

#include "core/json.hpp"
#include "measure/comparison.hpp"
#include "measure/figures.hpp"
#include "simulated.hpp"
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

namespace {

Comparison comparison(double speedup, double low, double high, std::vector<double> instances = {}) {
  Comparison result;
  result.speedup = speedup;
  result.interval = {low, high, 0.99};
  result.instances = static_cast<std::int64_t>(instances.size());
  result.instance_log_speedups = std::move(instances);
  return result;
}

}  // namespace

TEST_CASE("geometric_mean weighs and adds half-widths of few instances", "[measure][unit]") {
  const std::vector<Comparison> two{comparison(2, 1.8, 2.0 * 2.0 / 1.8),
                                    comparison(0.5, 0.45, 0.25 / 0.45)};
  const std::vector<double> even{1, 1};
  const Aggregate mean = geometric_mean(two, even);
  CHECK(mean.value == Approx(1));
  CHECK(mean.interval.low == Approx(0.9));
  CHECK(mean.interval.high == Approx(1 / 0.9));
  const std::vector<double> tilted{3, 1};
  CHECK(geometric_mean(two, tilted).value == Approx(std::pow(2, 0.5)));
}

TEST_CASE("geometric_mean uses the instances' own means", "[measure][unit]") {
  // Two problems whose process biases are opposite: their mean does not vary at all.
  const std::vector<double> up{0.08, 0.09, 0.10, 0.11, 0.12};
  const std::vector<double> down{0.12, 0.11, 0.10, 0.09, 0.08};
  const double speedup = std::exp(0.10);
  const std::vector<double> weights{1, 1};
  const std::vector<Comparison> opposite{comparison(speedup, 1.0, 1.2, up),
                                         comparison(speedup, 1.0, 1.2, down)};
  const Aggregate calm = geometric_mean(opposite, weights);
  CHECK(calm.interval.low == Approx(speedup));
  CHECK(calm.interval.high == Approx(speedup));
  // The same bias in both: the mean varies as one of them does.
  const std::vector<Comparison> alike{comparison(speedup, 1.0, 1.2, up),
                                      comparison(speedup, 1.0, 1.2, up)};
  const Aggregate shared = geometric_mean(alike, weights);
  const double half = 4.60409 * 0.0158114 / std::sqrt(5.0);
  CHECK(std::log(shared.interval.high) == Approx(0.10 + half).epsilon(1e-4));
  CHECK(std::log(shared.interval.low) == Approx(0.10 - half).epsilon(1e-4));
}

TEST_CASE("A problem that stays with the incumbent dilutes without noise", "[measure][unit]") {
  const std::vector<double> instances{0.19, 0.2, 0.2, 0.2, 0.21};
  const std::vector<Comparison> mixed{comparison(std::exp(0.2), 1.1, 1.3, instances),
                                      comparison(1, 1, 1)};
  const std::vector<double> weights{1, 1};
  const Aggregate mean = geometric_mean(mixed, weights);
  CHECK(mean.value == Approx(std::exp(0.1)));
  CHECK(mean.interval.low > std::exp(0.08));
  CHECK(mean.interval.high < std::exp(0.12));
  const std::vector<Comparison> none{comparison(1, 1, 1), comparison(1, 1, 1)};
  CHECK(geometric_mean(none, weights).interval.low == 1);
  CHECK(geometric_mean(none, weights).interval.high == 1);
}

TEST_CASE("One problem without a valid figure spoils the aggregate", "[measure][unit]") {
  const std::vector<double> weights{1, 1};
  const std::vector<Comparison> spoiled{comparison(1.2, 1.1, 1.3),
                                        comparison(k_unknown, k_unknown, k_unknown)};
  CHECK_FALSE(is_valid(geometric_mean(spoiled, weights).interval));
  CHECK(std::isnan(geometric_mean(spoiled, weights).value));
  CHECK_FALSE(is_valid(weighted_time_speedup(spoiled, weights, weights).interval));
}

TEST_CASE("Aggregates need positive weights", "[measure][unit]") {
  const std::vector<Comparison> one{comparison(1.2, 1.1, 1.3)};
  const std::vector<double> zero{0}, two{1, 1}, good{1};
  CHECK_THROWS_AS(geometric_mean(one, zero), std::invalid_argument);
  CHECK_THROWS_AS(geometric_mean(one, two), std::invalid_argument);
  CHECK_THROWS_AS(geometric_mean({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(weighted_time_speedup(one, two, good), std::invalid_argument);
}

TEST_CASE("weighted_time_speedup is the ratio of total times", "[measure][unit]") {
  // 100 us at 2x and 300 us at 1x: 400 / (50 + 300)
  const std::vector<Comparison> two{comparison(2, 1.9, 2.1), comparison(1, 0.98, 1.02)};
  const std::vector<double> times{100, 300}, weights{1, 1};
  const Aggregate total = weighted_time_speedup(two, times, weights);
  CHECK(total.value == Approx(400.0 / 350));
  CHECK(total.interval.low == Approx(400 / (100 / 1.9 + 300 / 0.98)));
  CHECK(total.interval.high == Approx(400 / (100 / 2.1 + 300 / 1.02)));
}

TEST_CASE("The geometric mean of an A/A suite is hardly ever won", "[measure][simulation]") {
  simulated::Random random(77);
  simulated::Noise noise;
  noise.bias = simulated::Bias::normal;
  int won = 0, covered = 0;
  constexpr int k_times = 500;
  const std::vector<double> weights{1, 1, 1, 1};
  for (int n = 0; n < k_times; ++n) {
    std::vector<Comparison> suite;
    CompareOptions options;
    options.resamples = 200;
    for (int p = 0; p < 4; ++p) {
      const auto turns = simulated::measure({{"a", 100}, {"b", 100}}, {5, 1, 2}, noise, random);
      suite.push_back(compare(turns[0], turns[1], options));
    }
    const Aggregate mean = geometric_mean(suite, weights);
    won += mean.interval.low > 1;
    covered += mean.interval.low <= 1 && 1 <= mean.interval.high;
  }
  CHECK(won <= 0.01 * k_times);
  CHECK(covered >= 0.975 * k_times);
}
