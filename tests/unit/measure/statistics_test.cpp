// SPDX-License-Identifier: MIT
#include "measure/statistics.hpp"
#include "measure/comparison.hpp"

#include <chrono>
#include <cmath>
#include <limits>

#include "core/json.hpp"
#include "measure/quantiles.hpp"
#include "simulated.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_infinity = std::numeric_limits<double>::infinity();

Turn turn(std::int64_t instance, std::int64_t round, std::int64_t position,
          std::vector<double> samples_us) {
  Turn result;
  result.subject = "cpu_tiled@1f0c44aa";
  result.instance = instance;
  result.round = round;
  result.position = position;
  result.samples_us = std::move(samples_us);
  return result;
}

}  // namespace

TEST_CASE("quantile interpolates between order statistics", "[measure][unit]") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({10, 20}, 0.25) == Approx(12.5));
  CHECK(quantile({1, 2, 3, 4, 5}, 0) == 1);
  CHECK(quantile({1, 2, 3, 4, 5}, 1) == 5);
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(median({1, 2, k_infinity}) == 2);
}

TEST_CASE("quantile has no answer without usable samples", "[measure][unit]") {
  CHECK(std::isnan(quantile({}, 0.5)));
  CHECK(std::isnan(quantile({1, k_nan, 2}, 0.5)));
  CHECK(std::isnan(quantile({1, 2}, 1.5)));
  CHECK(std::isnan(quantile({1, 2}, k_nan)));
}

TEST_CASE("quantiles of known distributions are met", "[measure][unit]") {
  simulated::Random random(42);
  std::vector<double> uniform, normal, exponential;
  for (int i = 0; i < 100'000; ++i) {
    uniform.push_back(random.uniform());
    normal.push_back(random.normal());
    exponential.push_back(-std::log(random.uniform()));
  }
  CHECK(quantile(uniform, 0.9) == Approx(0.9).margin(0.005));
  CHECK(median(normal) == Approx(0).margin(0.02));
  CHECK(quantile(normal, 0.975) == Approx(1.95996).margin(0.03));
  CHECK(median(exponential) == Approx(std::log(2.0)).margin(0.02));
}

TEST_CASE("Student t quantiles agree with published tables", "[measure][unit]") {
  CHECK(student_t_quantile(0.995, 1) == Approx(63.6567).epsilon(1e-5));
  CHECK(student_t_quantile(0.995, 4) == Approx(4.60409).epsilon(1e-5));
  CHECK(student_t_quantile(0.975, 9) == Approx(2.26216).epsilon(1e-5));
  CHECK(student_t_quantile(0.995, 120) == Approx(2.61742).epsilon(1e-5));
  CHECK(student_t_quantile(0.995, k_infinity) == Approx(2.575829).epsilon(1e-6));
  CHECK(student_t_quantile(0.005, 4) == Approx(-4.60409).epsilon(1e-5));
  CHECK(student_t_quantile(0.5, 3) == 0);
  CHECK_THROWS_AS(student_t_quantile(1.0, 3), std::invalid_argument);
  CHECK_THROWS_AS(student_t_quantile(0.9, 0), std::invalid_argument);
  CHECK_THROWS_AS(student_t_quantile(k_nan, 3), std::invalid_argument);
}

TEST_CASE("summarize gives the median of turns and pooled extremes", "[measure][unit]") {
  const std::vector<Turn> turns{turn(0, 0, 0, {10, 11, 12}), turn(0, 0, 3, {10, 11, 30}),
                                turn(0, 1, 1, {9, 11, 40})};
  const Measurement result = summarize(turns, 1);
  CHECK(result.median_us == Approx(11));
  CHECK(result.min_us == 9);
  CHECK(result.p90_us == Approx(32));
  CHECK(result.instances == 1);
  CHECK(result.turns == 3);
  CHECK(result.samples == 9);
  REQUIRE(is_valid(result.interval_us));
  CHECK(result.interval_us.low <= 11);
  CHECK(result.interval_us.high >= 11);
}

TEST_CASE("summarize takes the hull of few processes and the spread of many", "[measure][unit]") {
  std::vector<Turn> turns;
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t p = 0; p < 4; ++p) {
      const double base = i == 0 ? 10.0 : 20.0;
      turns.push_back(turn(i, p / 2, p, {base, base + 0.01 * static_cast<double>(p)}));
    }
  }
  const Measurement few = summarize(turns, 1);
  CHECK(few.interval_us.low <= 10.01);
  CHECK(few.interval_us.low > 9.8);
  CHECK(few.interval_us.high >= 20);
  CHECK(few.interval_us.high < 20.3);
  CHECK(few.median_us == Approx(std::sqrt(200.0)).epsilon(0.01));

  turns.clear();
  for (std::int64_t i = 0; i < 5; ++i) {
    turns.push_back(turn(i, 0, 0, {100.0 + static_cast<double>(i)}));
  }
  // t(4, 0.995) sd / sqrt(5) of 100 … 104: 4.604 * 1.581 / 2.236 = 3.26
  const Measurement many = summarize(turns, 1);
  CHECK(many.interval_us.low == Approx(98.74).margin(0.3));
  CHECK(many.interval_us.high == Approx(105.26).margin(0.3));
}

TEST_CASE("The interval of a measurement covers the truth", "[measure][unit]") {
  simulated::Random random(5);
  simulated::Noise noise;
  noise.bias = simulated::Bias::normal;
  int covered = 0;
  constexpr int k_times = 500;
  for (int n = 0; n < k_times; ++n) {
    noise.drift_frac = 0;
    const auto turns = simulated::measure({{"one", 100}}, {5, 1, 2}, noise, random);
    const Measurement result = summarize(turns[0], static_cast<std::uint64_t>(n));
    covered += result.interval_us.low <= 100.05 && 99.95 <= result.interval_us.high;
  }
  CHECK(covered >= 0.975 * k_times);
}

TEST_CASE("summarize has no figures for unusable turns", "[measure][unit]") {
  CHECK(std::isnan(summarize({}, 1).median_us));
  for (const double bad : {0.0, -1.0, k_nan, k_infinity}) {
    const std::vector<Turn> turns{turn(0, 0, 0, {10, bad})};
    const Measurement result = summarize(turns, 1);
    CHECK(std::isnan(result.median_us));
    CHECK(std::isnan(result.min_us));
    CHECK_FALSE(is_valid(result.interval_us));
  }
  std::vector<Turn> foreign{turn(0, 0, 0, {10, 11})};
  foreign[0].flags = {"foreign_load"};
  CHECK(std::isnan(summarize(foreign, 1).median_us));
}

TEST_CASE("summarize leaves a disturbed turn out", "[measure][unit]") {
  std::vector<Turn> turns(4, turn(0, 0, 0, {10, 10, 10}));
  turns[1].samples_us = {90, 1, 90};
  turns[1].flags = {"foreign_load"};
  const Measurement result = summarize(turns, 1);
  CHECK(result.median_us == Approx(10));
  CHECK(result.min_us == 10);
  CHECK(result.p90_us == 10);
  CHECK(result.turns == 4);
  CHECK(result.samples == 9);
}

TEST_CASE("A single sample has a median but no interval", "[measure][unit]") {
  const std::vector<Turn> turns{turn(0, 0, 0, {10})};
  const Measurement result = summarize(turns, 1);
  CHECK(result.median_us == Approx(10));
  CHECK_FALSE(is_valid(result.interval_us));
}

TEST_CASE("A comparison of 20 turns is quick", "[measure][speed]") {
  simulated::Random random(9);
  const auto turns =
      simulated::measure({{"a", 100}, {"b", 110}}, {5, 1, 1}, simulated::Noise{}, random);
  REQUIRE(turns[0].size() + turns[1].size() == 20);
  double best_ms = k_infinity;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    const Comparison result = compare(turns[0], turns[1], CompareOptions{});
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - begin;
    REQUIRE(result.instances == 5);
    best_ms = std::min(best_ms, elapsed.count());
  }
  CHECK(best_ms <= 20);  // about 0.1 optimized; the room is for sanitizers and busy machines
}

// Intervals without information are reported as such, without a figure.

namespace {

std::vector<Turn> turns_of(const std::string& subject, const std::vector<double>& by_process_us) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < by_process_us.size(); ++i) {
    for (std::int64_t round = 0; round < 2; ++round) {
      Turn turn;
      turn.subject = subject;
      turn.instance = static_cast<std::int64_t>(i);
      turn.round = round;
      turn.samples_us = {by_process_us[i], by_process_us[i] * 1.001};
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

}  // namespace

TEST_CASE("two processes that differ wildly give no interval, and the reason says so",
          "[measure][interval]") {
  const auto candidate = turns_of("a", {100, 300}), rival = turns_of("b", {200, 200});
  const Comparison comparison = compare(candidate, rival, CompareOptions{});
  CHECK(comparison.outcome == ComparisonOutcome::ambiguous);
  CHECK(std::isfinite(comparison.speedup));
  REQUIRE(is_uninformative(comparison.interval));
  CHECK(comparison.reason.find("says nothing") != std::string::npos);
  CHECK(comparison.reason.find("2 processes") != std::string::npos);
  CHECK(comparison.reason.find("0.000") == std::string::npos);
  const Json json = to_json(comparison);
  CHECK(json["interval"]["low"].is_null());
  CHECK(json["interval"]["high"].is_null());
  CHECK(json["speedup"].is_number());
  CHECK(std::isnan(resolution_frac(comparison)));
}

TEST_CASE("what says nothing decides nothing", "[measure][interval]") {
  const Interval wide{2, 1e6, 0.99}, narrow{2, 100, 0.99};
  CHECK(is_uninformative(wide));
  CHECK(classify(wide, 0.01, 0.05) == ComparisonOutcome::ambiguous);
  CHECK_FALSE(is_uninformative(narrow));
  CHECK(classify(narrow, 0.01, 0.05) == ComparisonOutcome::faster);
  CHECK_FALSE(is_uninformative({k_unknown, k_unknown, 0.99}));
}

TEST_CASE("a floor that nobody can use is no figure in words", "[measure][interval]") {
  CompareOptions options;
  options.noise_floor_frac = 2'108.9;
  options.between_instance_floor_frac = 0.3;
  const Comparison comparison =
      compare(turns_of("a", {100, 101}), turns_of("b", {100, 100}), options);
  INFO(comparison.reason);
  CHECK(comparison.reason.find("210890") == std::string::npos);
  CHECK(comparison.reason.find("more than 1000 %") != std::string::npos);
}
