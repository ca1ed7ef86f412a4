// SPDX-License-Identifier: MIT
// Scores: from comparisons and duplicates, their JSON, early stop and the width of asks.
#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "core/json.hpp"
#include "measure/comparison.hpp"
#include "measure/quantiles.hpp"
#include "search/seeded_order.hpp"
#include "search/strategy.hpp"
#include "support/catch.hpp"
#include "tuning_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::variant;
using namespace wb::testing;

TEST_CASE("a duplicate's score follows the best", "[search][strategy]") {
  Strategy strategy =
      strategy_of(lists_space({{"A", range(1, 9)}}), {.kind = StrategyKind::exhaustive});
  const auto scored = [](double low, double high) {
    Score score;
    score.speedup = std::sqrt(low * high);
    score.interval = {low, high, 0.99};
    score.outcome = classify(score.interval, 0, 0);
    return score;
  };
  REQUIRE(strategy.tell({{"A", 1}}, Score{}).ok());
  REQUIRE(strategy.tell({{"A", 2}}, scored(0.4, 0.6)).ok());
  // Against the same best, word for word.
  CHECK(strategy.duplicate_of({{"A", 2}})->interval.low == 0.4);
  CHECK(strategy.duplicate_of({{"A", 2}})->is_duplicate);
  REQUIRE(strategy.tell({{"A", 3}}, scored(1.9, 2.1)).ok());
  CHECK(strategy.best()->at("A") == 3);
  // The best changed: ends are divided the wide way.
  const Score chained = *strategy.duplicate_of({{"A", 2}});
  CHECK(chained.interval.low == Approx(0.4 / 2.1));
  CHECK(chained.interval.high == Approx(0.6 / 1.9));
  CHECK(chained.outcome == ComparisonOutcome::slower);
  // The best's own twin is the same, exactly.
  const Score twin = *strategy.duplicate_of({{"A", 3}});
  CHECK(twin.outcome == ComparisonOutcome::same);
  CHECK(twin.interval.low == 1);
  // A failure is the code's, unless it was the machine's.
  REQUIRE(strategy.tell({{"A", 4}}, invalid_score(Invalidity::correctness)).ok());
  REQUIRE(strategy.tell({{"A", 5}}, invalid_score(Invalidity::environment)).ok());
  CHECK(strategy.duplicate_of({{"A", 4}})->invalidity == Invalidity::correctness);
  CHECK_FALSE(strategy.duplicate_of({{"A", 5}}));
  CHECK_FALSE(strategy.duplicate_of({{"A", 6}}));
  CHECK_FALSE(strategy.duplicate_of({{"A", 99}}));

  TuneLedger ledger;
  ledger.add({{{"A", 5}}, "hash", invalid_score(Invalidity::environment)});
  CHECK_FALSE(ledger.first_with("hash"));
  ledger.add({{{"A", 4}}, "hash", invalid_score(Invalidity::correctness)});
  ledger.add({{{"A", 7}}, "hash", Score{}});
  ledger.add({{{"A", 8}}, "", Score{}});
  CHECK(ledger.first_with("hash")->at("A") == 4);
  CHECK_FALSE(ledger.first_with(""));
}

TEST_CASE("clearly slow is a matter of the interval", "[search][strategy]") {
  Comparison comparison;
  comparison.rounds = 1;
  comparison.speedup = 0.3;
  comparison.interval = {0.2, 0.45, 0.99};
  CHECK(is_clearly_slow(comparison, {}));
  CHECK_FALSE(is_clearly_slow(comparison, {.speedup = 0.4}));
  CHECK_FALSE(is_clearly_slow(comparison, {.speedup = 0}));
  CHECK_FALSE(is_clearly_slow(comparison, {.min_rounds = 2}));
  comparison.interval.high = 0.6;  // the estimate alone does not count
  CHECK_FALSE(is_clearly_slow(comparison, {}));
  comparison.interval = {k_unknown, k_unknown, 0.99};
  CHECK_FALSE(is_clearly_slow(comparison, {}));
}

TEST_CASE("half a round stops what is behind by more than the noise floor", "[search][strategy]") {
  Comparison comparison;
  comparison.noise_floor_frac = 0.05;
  comparison.interval = {0.5, 2.0, 0.99};
  comparison.speedup = 0.94;
  CHECK(is_behind(comparison));
  comparison.speedup = 0.96;
  CHECK_FALSE(is_behind(comparison));
  comparison.speedup = k_unknown;
  CHECK_FALSE(is_behind(comparison));
  comparison.speedup = 0.94;
  comparison.interval = {k_unknown, k_unknown, 0.99};
  CHECK_FALSE(is_behind(comparison));
}

TEST_CASE("what was retracted is neither valid nor promising, and the chain goes on",
          "[search][strategy]") {
  const SearchSpace space = lists_space({{"A", {1, 2, 3}}});
  Strategy strategy = strategy_of(space, {.kind = StrategyKind::exhaustive});
  const auto score = [](double speedup) {
    Score told;
    told.speedup = speedup;
    told.interval = {speedup * 0.5, speedup * 2, 0.99};
    told.outcome = ComparisonOutcome::ambiguous;
    return told;
  };
  for (std::int64_t a = 1; a <= 3; ++a) {
    REQUIRE(strategy.tell({{"A", a}}, a == 1 ? Score{} : score(a == 2 ? 1.3 : 1.2)).ok());
  }
  CHECK(strategy.promising() == Configuration{{"A", 2}});
  REQUIRE(strategy.retract({{"A", 2}}, Invalidity::correctness).ok());
  CHECK(strategy.promising() == Configuration{{"A", 3}});
  CHECK(strategy.standing().valid == 2);
  CHECK(strategy.duplicate_of({{"A", 2}})->invalidity == Invalidity::correctness);
  CHECK_FALSE(strategy.retract({{"A", 4}}, Invalidity::correctness).ok());
}

TEST_CASE("an ask's confidence widens the floor's reach alike", "[search][strategy]") {
  NoiseFloor floor;
  floor.floor_frac = 0.01;
  floor.between_instance_frac = 0.03;
  floor.degrees_of_freedom = 8;
  const CompareOptions plain = compare_options(Ask{.confidence = 0.95}, floor, 1);
  CHECK(*plain.between_instance_floor_frac == 0.03);
  CHECK(plain.confidence == 0.95);
  const CompareOptions strict = compare_options(Ask{.confidence = 0.9999}, floor, 1);
  CHECK(std::log1p(*strict.between_instance_floor_frac) / std::log1p(0.03) ==
        Approx(student_t_quantile(0.99995, 8) / student_t_quantile(0.996, 8)));
  floor.between_instance_frac = k_unknown;
  CHECK_FALSE(compare_options(Ask{}, floor, 1).between_instance_floor_frac);
}

TEST_CASE("scores survive JSON, nonsense does not", "[search][strategy]") {
  Score score;
  score.outcome = ComparisonOutcome::slower;
  score.speedup = 0.123456789012345678;
  score.interval = {0.1, 0.15, 0.9999};
  score.turns = 8;
  score.samples = 40;
  score.is_duplicate = true;
  const Score back = *score_from_json(*parse_json(to_json(score).dump(), "test"));
  CHECK(back.speedup == score.speedup);
  CHECK(back.interval.confidence == 0.9999);
  CHECK(back.outcome == score.outcome);
  CHECK(back.is_duplicate);
  CHECK(back.samples == 40);
  const Score failed = *score_from_json(to_json(invalid_score(Invalidity::timeout)));
  CHECK(failed.invalidity == Invalidity::timeout);
  CHECK(std::isnan(failed.speedup));
  CHECK_FALSE(score_from_json({{"outcome", "brilliant"}}).ok());
  CHECK_FALSE(score_from_json({{"outcome", "same"}, {"speedup", "fast"}}).ok());
}

TEST_CASE("the generator is SplitMix64 and stays so", "[search][order]") {
  // The reference implementation's first words for state 0 (Vigna, prng.di.unimi.it).
  CHECK(scramble(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);
  CHECK(scramble(2 * 0x9e3779b97f4a7c15u) == 0x6e789e6aa1b965f4);
  SeededRandom random(0);  // scramble(0) is 0
  CHECK(random.next() == 0xe220a8397b1dcdaf);
}

TEST_CASE("an order holds each position once", "[search][order]") {
  for (const std::uint64_t size : {1u, 2u, 3u, 10u, 1000u, 65'536u, 65'537u, 100'000u, 262'144u}) {
    const SeededOrder order(size, 7);
    std::vector<bool> seen(size);
    for (std::uint64_t p = 0; p < size; ++p) {
      const std::uint64_t value = order.at(p);
      REQUIRE(value < size);
      REQUIRE_FALSE(seen[value]);
      seen[value] = true;
    }
    CHECK_THROWS_AS(order.at(size), std::out_of_range);
  }
  CHECK_THROWS_AS(SeededOrder(0, 1).at(0), std::out_of_range);
}

TEST_CASE("orders differ by seed and are the same for one", "[search][order]") {
  for (const std::uint64_t size : {50u, 1'000'000'000u}) {
    const SeededOrder a(size, 1), again(size, 1), b(size, 2);
    int equal = 0;
    for (std::uint64_t p = 0; p < 50; ++p) {
      CHECK(a.at(p) == again.at(p));
      equal += a.at(p) == b.at(p) ? 1 : 0;
    }
    CHECK(equal < 10);
  }
}

TEST_CASE("every position is equally likely, small and large", "[search][order]") {
  // Where position 0 lands over many seeds, in ten bins. 99.99 % of a chi-square with 9 degrees of
  // freedom lies below 33.7.
  for (const std::uint64_t size : {10u, 1'000'000u}) {
    std::array<int, 10> bins{};
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      ++bins[SeededOrder(size, seed).at(0) * 10 / size];
    }
    double chi = 0;
    for (const int count : bins) chi += (count - 2000.0) * (count - 2000.0) / 2000.0;
    CHECK(chi < 33.7);
  }
}

TEST_CASE("bounded numbers are in range and even", "[search][order]") {
  SeededRandom random(3);
  std::array<int, 7> bins{};
  for (int i = 0; i < 70'000; ++i) ++bins[random.below(7)];
  for (const int count : bins) CHECK(std::abs(count - 10'000) < 500);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    CHECK((u >= 0 && u < 1));
  }
  CHECK(random.below(1) == 0);
  CHECK_THROWS_AS(random.below(0), std::invalid_argument);
}
