// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "core/json.hpp"
#include "measure/comparison.hpp"
#include "simulated.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

/// Exact turns: instance i of each subject takes its time times (1 + bias[i]), in ABBA order.
std::vector<std::vector<Turn>> exact(double candidate_us, double rival_us,
                                     const std::vector<double>& bias, std::int64_t rounds = 2,
                                     double slope_us = 0) {
  std::vector<std::vector<Turn>> turns(2);
  double elapsed = 0;
  for (std::size_t i = 0; i < bias.size(); ++i) {
    for (std::int64_t r = 0; r < rounds; ++r) {
      std::int64_t position = 0;
      for (const std::size_t s : abba_order(2, r)) {
        Turn turn;
        turn.subject = s == 0 ? "candidate" : "rival";
        turn.instance = static_cast<std::int64_t>(i);
        turn.round = r;
        turn.position = position++;
        const double factor = std::exp(slope_us * elapsed++);
        const double time_us = s == 0 ? candidate_us * (1 + bias[i]) : rival_us;
        turn.samples_us = {time_us * factor, time_us * factor * 1.001, time_us * factor * 0.999};
        turns[s].push_back(std::move(turn));
      }
    }
  }
  return turns;
}

CompareOptions with_floor(double floor_frac, double between_frac) {
  CompareOptions options;
  options.noise_floor_frac = floor_frac;
  options.between_instance_floor_frac = between_frac;
  return options;
}

const std::vector<double> k_five{-0.01, -0.005, 0, 0.005, 0.01};

}  // namespace

TEST_CASE("The three outcomes and the fourth", "[measure][unit]") {
  const auto outcome = [](double candidate_us, const std::vector<double>& bias) {
    const auto turns = exact(candidate_us, 100, bias);
    return compare(turns[0], turns[1], with_floor(0.01, 0.05)).outcome;
  };
  CHECK(outcome(90, k_five) == ComparisonOutcome::faster);
  CHECK(outcome(110, k_five) == ComparisonOutcome::slower);
  CHECK(outcome(100, k_five) == ComparisonOutcome::same);
  CHECK(outcome(98, k_five) == ComparisonOutcome::ambiguous);
  CHECK(outcome(90, {-0.2, -0.1, 0, 0.1, 0.2}) == ComparisonOutcome::ambiguous);
}

TEST_CASE("The interval is the studentized one of the header", "[measure][unit]") {
  const auto turns = exact(80, 100, k_five);
  CompareOptions options = with_floor(0.01, 0.05);
  options.resamples = 50'000;
  const Comparison result = compare(turns[0], turns[1], options);
  CHECK(result.speedup == Approx(1.25).epsilon(1e-3));
  // sd of the biases 0.0079, over sqrt(5), times t(4, 0.995) = 4.604: 1.63 %
  CHECK(std::log(result.interval.high / result.speedup) == Approx(0.01628).epsilon(0.03));
  CHECK(std::log(result.speedup / result.interval.low) == Approx(0.01628).epsilon(0.03));
  CHECK(result.instances == 5);
  CHECK(result.rounds == 10);
  CHECK(result.instance_log_speedups.size() == 5);
  CHECK(result.candidate == "candidate");
  CHECK(result.rival == "rival");
  CHECK(result.reason.find("noise floor") != std::string::npos);
  CHECK(resolution_frac(result) == Approx(1.01 * std::exp(0.01628) - 1).epsilon(0.03));
}

TEST_CASE("Five processes that agree by luck do not outdo what equal code differs by",
          "[measure][unit]") {
  // Of one code on an H200: 0.31 % apart, all five within 0.07 % of that; ten processes of equal
  // code had a standard deviation of 0.216 %.
  const auto turns = exact(100, 100, {-0.0024, -0.0028, -0.0031, -0.0034, -0.0038});
  CompareOptions options = with_floor(0.000968, 0.01);
  CHECK(compare(turns[0], turns[1], options).outcome == ComparisonOutcome::faster);
  options.instance_sd_frac = 0.00216;
  const Comparison held = compare(turns[0], turns[1], options);
  CHECK(std::log(held.interval.high / held.speedup) ==
        Approx(2.5758 * 0.00216 * std::sqrt(2.0 / 5)).epsilon(1e-3));
  CHECK(held.outcome == ComparisonOutcome::same);
  CHECK(held.reason.find("processes of equal code differ by 0.22 %") != std::string::npos);
  // What decides a session is the figure over its suite: of one problem it is that problem's.
  const std::vector<Comparison> one{held};
  const Aggregate total = geometric_mean(one, std::vector<double>{1.0});
  CHECK(total.interval.low == Approx(held.interval.low).epsilon(1e-9));
  CHECK(total.interval.high == Approx(held.interval.high).epsilon(1e-9));
  // Four such problems whose noise is their own: half as wide.
  const Aggregate four =
      geometric_mean(std::vector<Comparison>(4, held), std::vector<double>(4, 1.0));
  CHECK(std::log(four.interval.high / four.value) ==
        Approx(0.5 * std::log(held.interval.high / held.speedup)).epsilon(1e-6));
  // A spread of their own that is larger is the width, as ever.
  const auto wide = exact(100, 100, k_five);
  const Comparison own = compare(wide[0], wide[1], options);
  options.instance_sd_frac = 0;
  CHECK(own.interval.high == compare(wide[0], wide[1], options).interval.high);
}

TEST_CASE("The options of a floor hold its figures", "[measure][unit]") {
  NoiseFloor floor;
  floor.floor_frac = 0.01;
  floor.between_instance_frac = 0.05;
  floor.instance_sd_frac = 0.02;
  const CompareOptions options = compare_options(floor, 7);
  CHECK(options.seed == 7);
  CHECK(options.noise_floor_frac == 0.01);
  CHECK(options.between_instance_floor_frac == 0.05);
  CHECK(options.instance_sd_frac == 0.02);
  CHECK(compare_options(NoiseFloor{}, 7).instance_sd_frac == 0);
}

TEST_CASE("Linear drift cancels under ABBA order", "[measure][unit]") {
  const auto turns = exact(100, 100, {0, 0, 0, 0, 0}, 2, 0.01);  // 1 % slower with every turn
  const Comparison result = compare(turns[0], turns[1], with_floor(0.01, 0.05));
  CHECK(result.speedup == Approx(1).epsilon(1e-9));
  CHECK(result.outcome == ComparisonOutcome::same);
}

TEST_CASE("One process per side must clear the between-instance floor", "[measure][unit]") {
  const auto turns = exact(95, 100, {0});
  CHECK(compare(turns[0], turns[1], with_floor(0.01, 0.08)).outcome ==
        ComparisonOutcome::ambiguous);
  const Comparison clear = compare(turns[0], turns[1], with_floor(0.01, 0.03));
  CHECK(clear.outcome == ComparisonOutcome::faster);
  // Within one process nothing varied: all of the width is the floor's.
  CHECK(clear.interval.low == Approx(1 / 0.95 / 1.03).epsilon(1e-3));
  CHECK(clear.reason.find("1 process per side") != std::string::npos);
}

TEST_CASE("One process per side and no floor is never decided", "[measure][unit]") {
  const auto turns = exact(50, 100, {0});
  const Comparison result = compare(turns[0], turns[1], CompareOptions{});
  CHECK(result.outcome == ComparisonOutcome::ambiguous);
  CHECK(result.speedup == Approx(2).epsilon(1e-3));
  CHECK_FALSE(is_valid(result.interval));
  CHECK(std::isnan(resolution_frac(result)));
  CHECK(result.reason.find("no measured noise floor") != std::string::npos);
}

TEST_CASE("The measured 2.6 % of two processes on a GPU is no win", "[measure][unit]") {
  // One process per side, a ratio of 1 / 0.974 within 0.1 %, processes 3.3 % apart: same code.
  const auto turns = exact(97.4, 100, {0}, 10);
  CHECK(compare(turns[0], turns[1], with_floor(0.01, 0.033)).outcome != ComparisonOutcome::faster);
}

TEST_CASE("Two to four processes without a floor use Student's t", "[measure][unit]") {
  const auto turns = exact(50, 100, {-0.01, 0, 0.01});
  const Comparison three = compare(turns[0], turns[1], CompareOptions{});
  CHECK(three.outcome == ComparisonOutcome::faster);
  CHECK(three.interval.low < 2 * 0.96);  // t(2, 0.995) = 9.9
}

TEST_CASE("Unusable turns make a comparison ambiguous, with the reason", "[measure][unit]") {
  const auto spoil = [](auto change, const std::string& word) {
    auto turns = exact(50, 100, k_five);
    change(turns[1][3]);
    const Comparison result = compare(turns[0], turns[1], with_floor(0.01, 0.05));
    CAPTURE(word, result.reason);
    CHECK(result.outcome == ComparisonOutcome::ambiguous);
    CHECK(std::isnan(result.speedup));
    CHECK_FALSE(is_valid(result.interval));
    CHECK(result.reason.find(word) != std::string::npos);
  };
  spoil([](Turn& turn) { turn.samples_us[1] = 0; }, "no time");
  spoil([](Turn& turn) { turn.samples_us[1] = -3; }, "no time");
  spoil([](Turn& turn) { turn.samples_us[0] = std::nan(""); }, "no time");
  spoil([](Turn& turn) { turn.samples_us[0] = std::numeric_limits<double>::infinity(); },
        "no time");
  spoil([](Turn& turn) { turn.samples_us.clear(); }, "no samples");
  spoil([](Turn& turn) { turn.subject = "other"; }, "mixed");

  const auto turns = exact(50, 100, k_five);
  CHECK(compare(turns[0], {}, CompareOptions{}).reason == "no turns");
  auto elsewhere = turns[1];
  for (Turn& turn : elsewhere) turn.instance += 100;
  CHECK(compare(turns[0], elsewhere, CompareOptions{}).reason.find("no turns of both") == 0);
}

TEST_CASE("Rounds with foreign load are left out, up to a quarter", "[measure][unit]") {
  auto turns = exact(80, 100, k_five);
  for (const std::size_t spoiled : {2, 7}) {
    turns[1][spoiled].flags = {"foreign_load"};
    for (double& sample_us : turns[1][spoiled].samples_us) sample_us *= 3;
  }
  const Comparison result = compare(turns[0], turns[1], with_floor(0.01, 0.05));
  CHECK(result.outcome == ComparisonOutcome::faster);
  CHECK(result.speedup == Approx(1.25).epsilon(1e-3));
  CHECK(result.rounds == 8);
  CHECK(result.reason.find("2 of 10 rounds left out") != std::string::npos);

  turns[0][11].flags = {"foreign_load"};
  const Comparison more = compare(turns[0], turns[1], with_floor(0.01, 0.05));
  CHECK(more.outcome == ComparisonOutcome::ambiguous);
  CHECK(std::isnan(more.speedup));
  CHECK(more.reason.find("3 of 10 rounds (environment)") != std::string::npos);

  for (Turn& turn : turns[1]) turn.flags = {"foreign_load"};
  CHECK(compare(turns[0], turns[1], with_floor(0.01, 0.05)).reason.find("foreign load in 20") == 0);
  for (Turn& turn : turns[1]) turn.flags = {"throttled"};
  CHECK(compare(turns[0], turns[1], with_floor(0.01, 0.05)).reason.find("a throttled GPU in 20") ==
        0);
  // Its own threads waited for each other: nobody else is told to have had the CPUs.
  for (Turn& turn : turns[1]) turn.flags = {"foreign_load", "own_threads"};
  const std::string own = compare(turns[0], turns[1], with_floor(0.01, 0.05)).reason;
  CHECK(own.find("threads of its own that waited for each other's CPU") == 0);
  CHECK(own.find("args->threads") != std::string::npos);
  CHECK(own.find("foreign load") == std::string::npos);
  for (Turn& turn : turns[1]) turn.flags = {"foreign_process"};
  CHECK(compare(turns[0], turns[1], with_floor(0.01, 0.05)).outcome !=
        ComparisonOutcome::ambiguous);
}

TEST_CASE("Harmless flags do not stop a comparison", "[measure][unit]") {
  auto turns = exact(50, 100, k_five);
  turns[0][0].flags = {"not_settled", "resolution_limited"};
  CHECK(compare(turns[0], turns[1], with_floor(0.01, 0.05)).outcome == ComparisonOutcome::faster);
}

TEST_CASE("Only what both sides measured together is compared", "[measure][unit]") {
  auto turns = exact(80, 100, k_five);
  Turn lonely = turns[0][0];
  lonely.round = 9;
  lonely.samples_us = {1, 1, 1};
  turns[0].push_back(lonely);
  const Comparison result = compare(turns[0], turns[1], with_floor(0.01, 0.05));
  CHECK(result.speedup == Approx(1.25).epsilon(1e-3));
  CHECK(result.rounds == 10);
}

TEST_CASE("An unknown noise floor cannot be cleared", "[measure][unit]") {
  const auto turns = exact(50, 100, k_five);
  CompareOptions options = compare_options(NoiseFloor{}, 1);
  CHECK_FALSE(options.between_instance_floor_frac);
  CHECK(compare(turns[0], turns[1], options).outcome == ComparisonOutcome::ambiguous);
}

TEST_CASE("A comparison is the same for the same seed and order of turns", "[measure][unit]") {
  simulated::Random random(1);
  auto turns = simulated::measure({{"a", 100}, {"b", 103}}, {5, 2, 2}, simulated::Noise{}, random);
  const CompareOptions options = with_floor(0.01, 0.05);
  const Comparison first = compare(turns[0], turns[1], options);
  std::reverse(turns[0].begin(), turns[0].end());
  const Comparison second = compare(turns[0], turns[1], options);
  CHECK(to_json(first) == to_json(second));
}

TEST_CASE("Impossible options are broken invariants", "[measure][unit]") {
  const auto turns = exact(50, 100, k_five);
  CompareOptions options;
  options.confidence = 1;
  CHECK_THROWS_AS(compare(turns[0], turns[1], options), std::invalid_argument);
  options = {};
  options.resamples = 1;
  CHECK_THROWS_AS(compare(turns[0], turns[1], options), std::invalid_argument);
}

TEST_CASE("classify keeps to the rule at its edges", "[measure][unit]") {
  const auto word = [](double low, double high) { return classify({low, high, 0.99}, 0.02, 0.05); };
  CHECK(word(1.021, 1.2) == ComparisonOutcome::faster);
  CHECK(word(1.02, 1.2) == ComparisonOutcome::ambiguous);
  CHECK(word(0.8, 0.979) == ComparisonOutcome::slower);
  CHECK(word(0.95, 1.05) == ComparisonOutcome::same);
  CHECK(word(1.005, 1.04) == ComparisonOutcome::ambiguous);
  CHECK(word(0.9, 1.01) == ComparisonOutcome::ambiguous);
  CHECK(word(std::nan(""), 1.2) == ComparisonOutcome::ambiguous);
  CHECK(word(0, 0) == ComparisonOutcome::ambiguous);
  CHECK(classify({1.5, 1.6, 0.99}, std::nan(""), 0) == ComparisonOutcome::ambiguous);
}

TEST_CASE("nothing wider than a tenth is called same, however far processes differ",
          "[measure][unit]") {
  CHECK(classify({0.729, 1.950, 0.99}, 0.02, 3.2499) == ComparisonOutcome::ambiguous);
  CHECK(classify({1e-4, 19'095.559, 0.99}, 0.02, 21'677.46) == ComparisonOutcome::ambiguous);
  CHECK(classify({0.901, 1.099, 0.99}, 0.02, 0.5) == ComparisonOutcome::same);
  CHECK(classify({0.899, 1.05, 0.99}, 0.02, 0.5) == ComparisonOutcome::ambiguous);
  CHECK(classify({0.95, 1.101, 0.99}, 0.15, 0.5) == ComparisonOutcome::ambiguous);
}

TEST_CASE("Regimes that point opposite ways are ambiguous", "[measure][unit]") {
  const auto made = [](double speedup, ComparisonOutcome outcome) {
    Comparison comparison;
    comparison.speedup = speedup;
    comparison.interval = {speedup * 0.98, speedup * 1.02, 0.99};
    comparison.outcome = outcome;
    comparison.reason = "as made";
    return comparison;
  };
  const Comparison fast = made(1.10, ComparisonOutcome::faster);
  const Comparison slow = made(0.95, ComparisonOutcome::slower);
  const Comparison even = made(0.999, ComparisonOutcome::same);
  const auto combine = [](const Comparison& own, const Comparison& other) {
    return combine_regimes(own, Regime::burst, other);
  };
  CHECK(combine(fast, slow).outcome == ComparisonOutcome::ambiguous);
  CHECK(combine(fast, slow).interval.low == Approx(0.95 * 0.98));
  CHECK(combine(fast, slow).interval.high == Approx(1.10 * 1.02));
  CHECK(combine(fast, slow).reason == "burst (1.100x) and sustained (0.950x) point opposite ways");
  CHECK(combine(slow, fast).outcome == ComparisonOutcome::ambiguous);
  CHECK(combine(fast, fast).outcome == ComparisonOutcome::faster);
  CHECK(combine(fast, fast).reason == "as made; sustained: faster (1.100x)");
  CHECK(combine(fast, even).outcome == ComparisonOutcome::faster);
  CHECK(combine_regimes(slow, Regime::sustained, fast).reason ==
        "sustained (0.950x) and burst (1.100x) point opposite ways");
  const Comparison none = made(std::nan(""), ComparisonOutcome::ambiguous);
  CHECK(combine(fast, none).outcome == ComparisonOutcome::ambiguous);
  CHECK(combine(fast, none).speedup == 1.10);
  CHECK_FALSE(is_valid(combine(fast, none).interval));
  CHECK(combine(none, fast).reason == "as made");
  Comparison without_interval = slow;
  without_interval.interval = none.interval;
  CHECK_FALSE(is_valid(combine(fast, without_interval).interval));
}

TEST_CASE("A suite is no faster than its regimes agree on", "[measure][unit]") {
  Comparison fast;
  fast.speedup = 1.10;
  fast.interval = {1.08, 1.12, 0.99};
  fast.outcome = ComparisonOutcome::faster;
  fast.instance_log_speedups.assign(5, std::log(1.10));
  Comparison slow = fast;
  slow.speedup = 0.95;
  slow.interval = {0.93, 0.97, 0.99};
  slow.outcome = ComparisonOutcome::slower;
  const double weights[] = {1, 1};
  const auto total = [&](const Comparison& sustained) {
    const Comparison parts[] = {combine_regimes(fast, Regime::burst, sustained), fast};
    return geometric_mean(parts, weights);
  };
  CHECK(total(fast).interval.low == Approx(1.10));
  CHECK(total(slow).value == Approx(1.10));
  CHECK(total(slow).interval.low == Approx(std::sqrt(0.93 * 1.08)));
  CHECK(total(slow).interval.high == Approx(1.12));
  slow.speedup = std::nan("");
  CHECK_FALSE(is_valid(total(slow).interval));
}
