// SPDX-License-Identifier: MIT
#include <algorithm>

#include "search/strategy.hpp"
#include "support/catch.hpp"
#include "tuning_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::search;
using namespace wb::variant;
using namespace wb::testing;

namespace {

/// A bowl in four parameters with its bottom off the middle; 10,000 points.
SearchSpace bowl_space() {
  return lists_space(
      {{"A", range(0, 9)}, {"B", range(0, 9)}, {"C", range(0, 9)}, {"E", range(0, 9)}},
      {"A + B <= 15"});
}

World bowl(double noise_frac, std::uint64_t seed) {
  World world;
  world.noise_frac = noise_frac;
  world.seed = seed;
  world.us = [](const Configuration& c) {
    const auto square = [&](const char* name, double bottom) {
      return std::pow(static_cast<double>(c.at(name)) - bottom, 2);
    };
    return 100 + square("A", 6) + square("B", 2) + square("C", 7) + 2 * square("E", 3);
  };
  return world;
}

double best_us(const SearchSpace& space, StrategyKind kind, std::uint64_t seed, double noise_frac,
               std::size_t evaluations) {
  Strategy strategy = strategy_of(space, {.kind = kind, .seed = seed});
  const World world = bowl(noise_frac, seed);
  drive(strategy, world, evaluations);
  return world.us(strategy.best().value());
}

}  // namespace

TEST_CASE("on a smooth space hill_climb beats random at equal evaluations",
          "[search][hill_climb]") {
  const SearchSpace space = bowl_space();
  for (const double noise_frac : {0.0, 0.01}) {
    int better = 0, worse = 0, at_bottom = 0;
    double climbed_sum = 0, drawn_sum = 0;
    constexpr int k_repetitions = 200;
    for (std::uint64_t seed = 1; seed <= k_repetitions; ++seed) {
      const double climbed = best_us(space, StrategyKind::hill_climb, seed, noise_frac, 80);
      const double drawn = best_us(space, StrategyKind::random, seed, noise_frac, 80);
      better += climbed < drawn ? 1 : 0;
      worse += climbed > drawn ? 1 : 0;
      at_bottom += climbed == 100 ? 1 : 0;
      climbed_sum += climbed;
      drawn_sum += drawn;
    }
    INFO("noise " << noise_frac << " better " << better << " worse " << worse << " at bottom "
                  << at_bottom << " mean " << climbed_sum / k_repetitions << " against "
                  << drawn_sum / k_repetitions);
    CHECK(better > 9 * worse);
    CHECK(climbed_sum < drawn_sum);
    if (noise_frac == 0.0) CHECK(at_bottom > k_repetitions * 9 / 10);
  }
}

TEST_CASE("without noise a climb ends at the bottom of a bowl", "[search][hill_climb]") {
  const SearchSpace space = bowl_space();
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CHECK(best_us(space, StrategyKind::hill_climb, seed, 0.0, 400) == 100);
  }
}

TEST_CASE("a second basin is found by starting again", "[search][hill_climb]") {
  // The wide basin around 3 ends at 100, the narrow one around 18 at 90, with a wall between.
  const SearchSpace space = lists_space({{"A", range(0, 20)}, {"B", range(0, 20)}});
  World world;
  world.us = [](const Configuration& c) {
    const double a = static_cast<double>(c.at("A")), b = static_cast<double>(c.at("B"));
    const double wide = 100 + std::abs(a - 3) + std::abs(b - 3);
    const double narrow = 90 + 8 * std::abs(a - 18) + 8 * std::abs(b - 18);
    return std::min(wide, narrow);
  };
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Strategy strategy = strategy_of(space, {.kind = StrategyKind::hill_climb, .seed = seed});
    drive(strategy, world, 441);
    found += strategy.best()->at("A") == 18 ? 1 : 0;
  }
  CHECK(found == 20);  // the whole space: restarts leave nothing out
}

TEST_CASE("a plateau is walked without asking twice and left again", "[search][hill_climb]") {
  const SearchSpace space = lists_space({{"A", range(0, 30)}, {"B", range(0, 30)}});
  World world;
  world.us = [](const Configuration& c) {
    return c.at("A") == 29 && c.at("B") == 1 ? 50.0 : 100.0;
  };
  Strategy strategy = strategy_of(space, {.kind = StrategyKind::hill_climb});
  const auto done = drive(strategy, world, 100'000);
  CHECK(done.size() == space.size());
  CHECK(world.us(*strategy.best()) == 50);
}

TEST_CASE("what cannot be compared is neither better nor worse", "[search][hill_climb]") {
  const SearchSpace space = lists_space({{"A", range(0, 9)}});
  Strategy strategy = strategy_of(space, {.kind = StrategyKind::hill_climb});
  std::size_t asked = 0;
  while (const auto ask = strategy.next()) {
    Score score;
    score.outcome = ComparisonOutcome::ambiguous;
    score.speedup = k_unknown;
    score.interval = {k_unknown, k_unknown, 0.99};
    REQUIRE(strategy.tell(ask->configuration, score).ok());
    ++asked;
  }
  CHECK(asked == 10);
  CHECK(strategy.standing().contenders == 10);
  CHECK(strategy.standing().outcome == ComparisonOutcome::ambiguous);
}
