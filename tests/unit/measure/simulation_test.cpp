// SPDX-License-Identifier: MIT
// How often the comparison rule is wrong, and how often it finds a real difference, on simulated
// machines with fixed seeds. The figures of docs/results/trust.md come from here.
#include <fmt/format.h>

#include "measure/comparison.hpp"
#include "measure/statistics.hpp"
#include "simulated.hpp"
#include "support/catch.hpp"

namespace {

using namespace wb;
using namespace wb::measure;
using simulated::Bias;
using simulated::Noise;
using simulated::Random;

struct Rates {
  double faster = 0, slower = 0, same = 0, covered = 0;
  double resolution = 0;  ///< mean
};

/// `times` comparisons of a candidate that is `speedup` times as fast; the noise floor is measured
/// anew for every tenth, as every session measures its own: by two sets of five processes.
Rates rates(int times, double speedup, const Effort& effort, const Noise& noise, std::uint64_t seed,
            const Effort& floor_effort = {10, 1, 2}) {
  Random random(seed);
  Rates result;
  CompareOptions options;
  options.resamples = 400;
  for (int n = 0; n < times; ++n) {
    if (n % 10 == 0) {
      const auto same_code = simulated::measure_same_code(floor_effort, noise, random);
      options = compare_options(noise_floor(same_code), 1);
      options.resamples = 400;
    }
    options.seed = seed + static_cast<std::uint64_t>(n);
    const auto turns =
        simulated::measure({{"candidate", 100 / speedup}, {"rival", 100}}, effort, noise, random);
    const Comparison comparison = compare(turns[0], turns[1], options);
    result.faster += comparison.outcome == ComparisonOutcome::faster;
    result.slower += comparison.outcome == ComparisonOutcome::slower;
    result.same += comparison.outcome == ComparisonOutcome::same;
    result.covered += comparison.interval.low <= speedup && speedup <= comparison.interval.high;
    result.resolution += resolution_frac(comparison);
  }
  for (double* sum :
       {&result.faster, &result.slower, &result.same, &result.covered, &result.resolution}) {
    *sum /= times;
  }
  return result;
}

}  // namespace

TEST_CASE("A/A comparisons at confirmation effort are hardly ever won", "[measure][simulation]") {
  for (const Bias bias : {Bias::uniform, Bias::normal}) {
    Noise noise;
    noise.bias = bias;
    const Rates result = rates(500, 1.0, {5, 1, 2}, noise, 20261120);
    CAPTURE(static_cast<int>(bias), result.faster, result.slower, result.same, result.covered);
    CHECK(result.faster <= 0.01);
    CHECK(result.slower <= 0.01);
    CHECK(result.covered >= 0.98);
  }
}

TEST_CASE("A/A comparisons with one or two processes per side are hardly ever won",
          "[measure][simulation]") {
  for (const Bias bias : {Bias::uniform, Bias::normal}) {
    for (const std::int64_t instances : {1, 2, 3}) {
      Noise noise;
      noise.bias = bias;
      const Rates result = rates(500, 1.0, {instances, 1, 2}, noise, 7);
      CAPTURE(static_cast<int>(bias), instances, result.faster, result.slower, result.covered);
      CHECK(result.faster <= 0.01);
      CHECK(result.slower <= 0.01);
    }
  }
}

TEST_CASE("A floor measured over three placements holds for a selection with one",
          "[measure][simulation]") {
  Noise noise;
  noise.bias = Bias::normal;
  noise.process_frac = 0.01;
  noise.placement_frac = 0.03;
  const Rates result = rates(2'000, 1.0, {1, 1, 2}, noise, 21, {10, 3, 1});
  CAPTURE(result.faster, result.slower);
  CHECK(result.faster <= 0.004);
  CHECK(result.slower <= 0.004);
}

TEST_CASE("The design rate of false wins holds over many A/A comparisons",
          "[measure][simulation]") {
  for (const std::int64_t instances : {1, 5}) {
    Noise noise;
    noise.bias = Bias::normal;
    const Rates result = rates(20'000, 1.0, {instances, 1, 2}, noise, 99);
    CAPTURE(instances, result.faster, result.slower);
    CHECK(result.faster <= 0.003);
  }
}

TEST_CASE("Real differences are found", "[measure][simulation]") {
  Noise noise;
  const auto faster = [&](double speedup, const Effort& effort) {
    return rates(500, speedup, effort, noise, 3).faster;
  };
  CHECK(faster(1.10, {5, 3, 2}) >= 0.90);
  CHECK(faster(1.10, {5, 3, 1}) >= 0.90);  // the effort of a confirmation
  CHECK(faster(1.10, {5, 1, 2}) >= 0.80);
  CHECK(rates(500, 1 / 1.10, {5, 3, 2}, noise, 4).slower >= 0.90);
  noise.bias = Bias::normal;
  CHECK(faster(1.20, {5, 3, 2}) >= 0.90);
  CHECK(faster(1.10, {10, 3, 2}) >= 0.90);
  CHECK(faster(1.50, {1, 1, 2}) >= 0.90);  // a selection with one process per side
}

TEST_CASE("Quiet machines resolve small differences", "[measure][simulation]") {
  Noise noise;
  noise.bias = Bias::normal;
  noise.process_frac = 0.0035;
  noise.placement_frac = 0.002;
  CHECK(rates(500, 1.025, {5, 3, 2}, noise, 11).faster >= 0.90);
  CHECK(rates(500, 1.000, {5, 3, 2}, noise, 12).same >= 0.80);
}

TEST_CASE("Intervals keep their coverage of the true speedup", "[measure][simulation]") {
  for (const std::int64_t instances : {5, 8, 12}) {
    for (const double speedup : {0.8, 1.0, 1.3}) {
      Noise noise;
      noise.bias = Bias::normal;
      const Rates result = rates(1'000, speedup, {instances, 1, 2}, noise, 31);
      CAPTURE(instances, speedup, result.covered);
      CHECK(result.covered >= 0.98);
      CHECK(result.covered <= 0.9999);
    }
  }
}

// The table of docs/contracts/measurement.md, a few minutes: `unit_measure "[table]"`.
TEST_CASE("Rates of the outcomes by effort", "[.][table]") {
  fmt::print(
      "| bias | effort | false wins | equal code same | interval holds truth | 1.05 | 1.10 | 1.20 "
      "| "
      "1.50 | mean resolution |\n");
  for (const Bias bias : {Bias::uniform, Bias::normal}) {
    for (const Effort& effort : {Effort{1, 1, 2}, {2, 1, 2}, {5, 3, 1}, {8, 3, 2}}) {
      Noise noise;
      noise.bias = bias;
      const Rates equal = rates(10'000, 1.0, effort, noise, 99);
      fmt::print("| {} | {} x {} x {} | {:.2f} % | {:.0f} % | {:.1f} % |",
                 bias == Bias::normal ? "normal 3 %" : "±3 %", effort.instances, effort.placements,
                 effort.rounds, 100 * equal.faster, 100 * equal.same, 100 * equal.covered);
      for (const double speedup : {1.05, 1.10, 1.20, 1.50}) {
        fmt::print(" {:.0f} % |", 100 * rates(1'000, speedup, effort, noise, 3).faster);
      }
      fmt::print(" {:.0f} % |\n", 100 * equal.resolution);
    }
  }
  Noise quiet;  // a large problem
  quiet.bias = Bias::normal;
  quiet.process_frac = 0.0035;
  quiet.placement_frac = 0.002;
  const Rates equal = rates(1'000, 1.0, {5, 3, 1}, quiet, 12);
  fmt::print(
      "quiet, 5 x 3 x 1: resolution {:.1f} %, 1.02 found {:.0f} %, equal code same {:.0f} %\n",
      100 * equal.resolution, 100 * rates(1'000, 1.02, {5, 3, 1}, quiet, 11).faster,
      100 * equal.same);
}
