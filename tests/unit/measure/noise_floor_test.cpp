// SPDX-License-Identifier: MIT
#include <cmath>

#include "measure/comparison.hpp"
#include "measure/figures.hpp"
#include "measure/hierarchy.hpp"
#include "measure/quantiles.hpp"
#include "measure/statistics.hpp"
#include "simulated.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

/// Process i takes exp(bias[i]) * 100 us in every turn; slope per turn, processes interleaved.
std::vector<Turn> same_code(const std::vector<double>& bias, double slope = 0) {
  std::vector<Turn> turns;
  double elapsed = 0;
  for (std::int64_t round = 0; round < 2; ++round) {
    std::int64_t position = 0;
    for (const std::size_t i : abba_order(bias.size(), round)) {
      Turn turn;
      turn.subject = "code";
      turn.instance = static_cast<std::int64_t>(i);
      turn.round = round;
      turn.position = position++;
      turn.samples_us = {100 * std::exp(bias[i] + slope * elapsed++)};
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

const std::vector<double> k_five_biases{-0.02, -0.01, 0, 0.01, 0.02};
constexpr double k_deviation = 0.0158114;  // of k_five_biases

}  // namespace

TEST_CASE("The noise floor follows from the spread of processes", "[measure][unit]") {
  const NoiseFloor floor = noise_floor(same_code(k_five_biases));
  CHECK(floor.instances == 5);
  CHECK(floor.turns == 20);
  CHECK(floor.degrees_of_freedom == 4);
  CHECK(floor.instance_sd_frac == Approx(k_deviation).epsilon(1e-5));
  CHECK(floor.floor_frac == Approx(std::expm1(k_deviation * std::sqrt(0.4))).epsilon(1e-5));
  const double t = student_t_quantile(0.996, 4);
  CHECK(floor.between_instance_frac ==
        Approx(std::expm1(t * k_deviation * std::sqrt(2.0))).epsilon(1e-5));
  CHECK(floor.within_frac == Approx(0).margin(1e-12));
  CHECK(floor.reason.empty());
}

TEST_CASE("Interleaved processes keep a drift out of the floor", "[measure][unit]") {
  const NoiseFloor floor =
      noise_floor(same_code(k_five_biases, 0.02));  // 2 % slower with every turn
  CHECK(floor.instance_sd_frac == Approx(k_deviation).epsilon(1e-5));
}

TEST_CASE("Processes measured one after another are taken as they are", "[measure][unit]") {
  auto turns = same_code(k_five_biases);
  turns.pop_back();  // no longer every process in every pass
  CHECK(noise_floor(turns).instance_sd_frac == Approx(k_deviation).epsilon(1e-5));
}

TEST_CASE("Turns with foreign load do not widen the floor", "[measure][unit]") {
  auto turns = same_code(k_five_biases);
  turns[2].flags = {"foreign_load"};
  turns[2].samples_us = {400};
  CHECK(noise_floor(turns).instance_sd_frac == Approx(k_deviation).epsilon(0.2));
}

TEST_CASE("A floor that cannot be known says why", "[measure][unit]") {
  const NoiseFloor one = noise_floor(same_code({0.01}));
  CHECK(std::isnan(one.floor_frac));
  CHECK(std::isnan(one.between_instance_frac));
  CHECK(one.reason.find("one process") == 0);
  CHECK(noise_floor({}).reason == "no turns");
  auto foreign = same_code(k_five_biases);
  for (std::size_t i = 0; i < 6; ++i) foreign[i].flags = {"foreign_load"};
  CHECK(std::isnan(noise_floor(foreign).floor_frac));
  CHECK_FALSE(noise_floor(foreign).reason.empty());
}

TEST_CASE("Pooled floors of one class need less room", "[measure][unit]") {
  const std::vector<NoiseFloor> three(3, noise_floor(same_code(k_five_biases)));
  const NoiseFloor pooled = pool(three);
  CHECK(pooled.degrees_of_freedom == 12);
  CHECK(pooled.instance_sd_frac == Approx(k_deviation).epsilon(1e-5));
  CHECK(pooled.floor_frac == Approx(three[0].floor_frac).epsilon(1e-9));
  CHECK(pooled.between_instance_frac < three[0].between_instance_frac);
  const std::vector<NoiseFloor> with_unknown{three[0], noise_floor({})};
  CHECK(pool(with_unknown).degrees_of_freedom == 4);
  CHECK(std::isnan(pool({}).floor_frac));
  CHECK_FALSE(pool({}).reason.empty());
}

TEST_CASE("The floor of single processes counts placements in full", "[measure][unit]") {
  // No spread between processes over three placements together, but one in each of them.
  std::vector<Turn> turns;
  for (std::int64_t placement = 0; placement < 3; ++placement) {
    for (std::int64_t instance = 0; instance < 3; ++instance) {
      Turn turn;
      turn.subject = "code";
      turn.instance = instance;
      turn.placement = placement;
      turn.samples_us = {std::exp(0.01 * static_cast<double>((instance + placement) % 3))};
      turns.push_back(turn);
    }
  }
  const NoiseFloor floor = noise_floor(turns);
  CHECK(floor.instance_sd_frac == Approx(0).margin(1e-12));
  CHECK(floor.placement_sd_frac == Approx(0.01));
  CHECK(floor.between_instance_frac > 0.05);
}

TEST_CASE("compare_options takes both floors", "[measure][unit]") {
  const NoiseFloor floor = noise_floor(same_code(k_five_biases));
  const CompareOptions options = compare_options(floor, 17);
  CHECK(options.noise_floor_frac == floor.floor_frac);
  REQUIRE(options.between_instance_floor_frac);
  CHECK(*options.between_instance_floor_frac == floor.between_instance_frac);
  CHECK(options.seed == 17);
}

TEST_CASE("The between-instance floor bounds single pairs of the same code",
          "[measure][simulation]") {
  simulated::Random random(13);
  simulated::Noise noise;
  noise.bias = simulated::Bias::normal;
  int above = 0;
  constexpr int k_times = 2'000;
  for (int n = 0; n < k_times; ++n) {
    const NoiseFloor floor = noise_floor(simulated::measure_same_code({5, 1, 2}, noise, random));
    const auto pair = simulated::measure_same_code({2, 1, 2}, noise, random);
    std::vector<double> medians;
    for (std::int64_t i = 0; i < 2; ++i) {
      std::vector<Turn> own;
      for (const Turn& turn : pair) {
        if (turn.instance == i) own.push_back(turn);
      }
      medians.push_back(summarize(own, 1).median_us);
    }
    above += std::abs(std::log(medians[0] / medians[1])) > std::log1p(floor.between_instance_frac);
  }
  CHECK(above <= 0.016 * k_times);  // 0.8 % by design
}

namespace {

NoiseFloor floor_of(double floor_frac, double between_frac, double sd_frac = 0.01) {
  NoiseFloor floor;
  floor.floor_frac = floor_frac;
  floor.between_instance_frac = between_frac;
  floor.instance_sd_frac = sd_frac;
  return floor;
}

}  // namespace

TEST_CASE("a floor serves unless it hides what a session is for", "[measure][floors]") {
  CHECK_FALSE(unfit_reason(floor_of(0.02, 0.15), false));
  CHECK_FALSE(unfit_reason(floor_of(0.10, 0.50), false));
  CHECK(unfit_reason(floor_of(0.11, 0.15), false)->find("11.0 %") != std::string::npos);
  CHECK(unfit_reason(floor_of(0.02, 21'677.0), false)->find("single processes") !=
        std::string::npos);
  CHECK(unfit_reason(floor_of(0.02, 0.15), true)->find("other work") != std::string::npos);
  NoiseFloor none;
  none.reason = "one process shows no spread between processes";
  CHECK(unfit_reason(none, false)->find(none.reason) != std::string::npos);
}

TEST_CASE("the smallest gain is found about every second time", "[measure][floors]") {
  simulated::Noise noise;
  noise.bias = simulated::Bias::normal;
  simulated::Random random(7);
  int found = 0, all = 0;
  for (int session = 0; session < 60; ++session) {
    const auto same = simulated::measure_same_code({10, 1, 2}, noise, random);
    const NoiseFloor floor = noise_floor(same);
    const double gain = smallest_gain_frac(floor, 5);
    REQUIRE(gain > floor.floor_frac);
    for (int i = 0; i < 5; ++i, ++all) {
      const auto turns = simulated::measure({{"candidate", 100 / (1 + gain)}, {"rival", 100}},
                                            {5, 1, 2}, noise, random);
      CompareOptions options = compare_options(floor, 1);
      options.resamples = 200;
      found += compare(turns[0], turns[1], options).outcome == ComparisonOutcome::faster;
    }
  }
  CAPTURE(found, all);
  CHECK(found > 0.3 * all);
  CHECK(found < 0.8 * all);
}

TEST_CASE("without a spread between processes no gain can be named", "[measure][floors]") {
  CHECK(std::isnan(smallest_gain_frac(floor_of(0.02, 0.1), 1)));
  CHECK(std::isnan(smallest_gain_frac(NoiseFloor{}, 5)));
  CHECK(smallest_gain_frac(floor_of(0.02, 0.1, 0), 5) == Approx(0.02));
}

namespace {

Turn turn(std::int64_t instance, std::int64_t placement, std::int64_t round, std::int64_t position,
          std::vector<double> samples_us) {
  Turn result;
  result.subject = "s";
  result.instance = instance;
  result.placement = placement;
  result.round = round;
  result.position = position;
  result.samples_us = std::move(samples_us);
  return result;
}

}  // namespace

TEST_CASE("Turns are nested by instance, placement, round and position", "[measure][unit]") {
  const double e = std::exp(1.0);
  const std::vector<Turn> turns{turn(2, 0, 0, 3, {e * e}), turn(2, 0, 0, 0, {e}),
                                turn(2, 1, 0, 0, {1.0}), turn(2, 1, 4, 0, {1.0}),
                                turn(0, 0, 0, 0, {1, 2, 300})};
  const auto clusters = measure::hierarchy::clusters(measure::hierarchy::cell_logs(turns));
  REQUIRE(clusters.size() == 2);
  CHECK(clusters[0].instance == 0);
  CHECK(measure::hierarchy::center(clusters[0]) == Approx(std::log(2.0)));
  REQUIRE(clusters[1].placements.size() == 2);
  CHECK(clusters[1].rounds() == 3);
  REQUIRE(clusters[1].placements[0].size() == 1);
  CHECK(clusters[1].placements[0][0][0] == Approx(1));
  CHECK(clusters[1].placements[0][0][1] == Approx(2));
  CHECK(measure::hierarchy::center(clusters[1]) == Approx(0.5));  // of 0, 0, 1, 2
}

TEST_CASE("A disturbed placement of three does not move the center", "[measure][unit]") {
  const measure::hierarchy::Cluster cluster{0, {{{1.0, 1.0}}, {{1.0, 1.0}}, {{1.0, 9.0}}}};
  CHECK(measure::hierarchy::center(cluster) == 1.0);
}

TEST_CASE("One disturbed turn of two rounds does not move the center", "[measure][unit]") {
  measure::hierarchy::Cluster cluster{0, {{{1.0, 1.0}, {1.0, 9.0}}}};
  CHECK(measure::hierarchy::center(cluster) == 1.0);
}

TEST_CASE("The bootstrap of instances gives the standard error of a mean", "[measure][unit]") {
  simulated::Random random(3);
  std::vector<measure::hierarchy::Cluster> clusters;
  for (int i = 0; i < 40; ++i) clusters.push_back({i, {{{random.normal()}}}});
  const double error = measure::hierarchy::bootstrap_error(
                           clusters, measure::hierarchy::Level::instances, 20'000, 1) *
                       measure::hierarchy::small_count_factor(clusters.size());
  const double expected =
      measure::hierarchy::standard_deviation(measure::hierarchy::centers(clusters)) /
      std::sqrt(40.0);
  CHECK(error == Approx(expected).epsilon(0.03));
}

TEST_CASE("The bootstrap of rounds leaves the instances alone", "[measure][unit]") {
  const std::vector<measure::hierarchy::Cluster> apart{{0, {{{1.0}, {1.0}}}},
                                                       {1, {{{5.0}, {5.0}}}}};
  CHECK(measure::hierarchy::bootstrap_error(apart, measure::hierarchy::Level::rounds, 500, 1) == 0);
  CHECK(measure::hierarchy::bootstrap_error(apart, measure::hierarchy::Level::instances, 500, 1) >
        1);
  const std::vector<measure::hierarchy::Cluster> within{{0, {{{1.0}, {2.0}, {3.0}}}}};
  CHECK(measure::hierarchy::bootstrap_error(within, measure::hierarchy::Level::rounds, 500, 1) >
        0.3);
  CHECK(measure::hierarchy::bootstrap_error(within, measure::hierarchy::Level::instances, 500, 1) ==
        0);
}

TEST_CASE("The same seed draws the same, another seed another", "[measure][unit]") {
  const std::vector<measure::hierarchy::Cluster> clusters{
      {0, {{{1.0}}}}, {1, {{{2.0}}}}, {2, {{{4.0}}}}};
  const auto draw = [&](std::uint64_t seed) {
    return measure::hierarchy::bootstrap_error(clusters, measure::hierarchy::Level::instances, 300,
                                               seed);
  };
  CHECK(draw(7) == draw(7));
  CHECK(draw(7) != draw(8));
}
