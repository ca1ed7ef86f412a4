// SPDX-License-Identifier: MIT
// Climbs and races.
#include <algorithm>
#include <set>

#include "measure/comparison.hpp"
#include "search/simulation.hpp"
#include "search/strategy.hpp"
#include "support/catch.hpp"
#include "tuning_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::testing;
using namespace wb::variant;

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

namespace {

Manifest twelve() {
  return lists_manifest({{"A", range(1, 12)}});
}

SimulationOptions quick(std::uint64_t seed) {
  return {.seed = seed, .resamples = 100};
}

}  // namespace

TEST_CASE("among equals a race declares no winner", "[search][racing]") {
  constexpr int k_runs = 500;
  int leader_changed = 0, declared = 0, eliminated = 0;
  for (std::uint64_t seed = 1; seed <= k_runs; ++seed) {
    RecordedWorld world;
    world.us = [](const Configuration&) { return 100.0; };
    world.seed = seed;
    const Recording recording = recording_of(twelve(), world);
    Strategy strategy = strategy_of(recording.space, {.kind = StrategyKind::racing, .seed = seed});
    const auto result = simulate(recording, strategy, quick(seed));
    leader_changed += result.steps.front().configuration == *result.standing.best ? 0 : 1;
    declared += result.standing.outcome == ComparisonOutcome::faster ? 1 : 0;
    eliminated += static_cast<int>(result.standing.valid - result.standing.contenders);
  }
  CAPTURE(leader_changed, declared, eliminated);
  CHECK(leader_changed <= k_runs / 100);
  CHECK(declared == 0);
  CHECK(eliminated <= k_runs * 11 / 100);
}

TEST_CASE("a clear winner wins the race, with fewer turns for the rest", "[search][racing]") {
  int won = 0;
  std::int64_t asked = 0;
  constexpr int k_runs = 50;
  for (std::uint64_t seed = 1; seed <= k_runs; ++seed) {
    RecordedWorld world;
    world.us = [](const Configuration& c) {
      return c.at("A") == 7 ? 80.0 : 100.0 + 10 * static_cast<double>(c.at("A"));
    };
    world.seed = seed;
    const Recording recording = recording_of(twelve(), world);
    Strategy strategy = strategy_of(recording.space, {.kind = StrategyKind::racing, .seed = seed});
    const auto result = simulate(recording, strategy, quick(seed));
    won += result.standing.best->at("A") == 7 ? 1 : 0;
    asked += static_cast<std::int64_t>(result.steps.size());
    CHECK(result.steps.size() >= 12);
  }
  CHECK(won == k_runs);
  CHECK(asked < k_runs * 12 * 2);  // of at most 4 stages
}

TEST_CASE("a race takes at most so many entrants, the start among them", "[search][racing]") {
  const SearchSpace space = lists_space({{"A", range(1, 1000)}, {"B", range(1, 10'000)}});
  World world;
  world.noise_frac = 0.01;
  world.us = [](const Configuration& c) { return 100.0 + static_cast<double>(c.at("A")); };
  const Configuration start{{"A", 17}, {"B", 4711}};
  Strategy strategy =
      strategy_of(space, {.kind = StrategyKind::racing, .start = start, .entrants = 30});
  std::set<std::string> entrants;
  for (const Evaluation& item : drive(strategy, world, 100'000)) {
    entrants.insert(to_text(item.configuration));
  }
  CHECK(entrants.size() == 30);
  CHECK(entrants.contains(to_text(start)));
}

TEST_CASE("survivors are asked again one stage later, beside the leader", "[search][racing]") {
  const SearchSpace space = lists_space({{"A", range(1, 4)}});
  Strategy strategy =
      strategy_of(space, {.kind = StrategyKind::racing, .start = Configuration{{"A", 1}}});
  const auto answer = [&](std::int64_t a, double low, double high) {
    Score score;
    score.speedup = std::sqrt(low * high);
    score.interval = {low, high, 0.99};
    score.outcome = classify(score.interval, 0, 0);
    REQUIRE(strategy.tell({{"A", a}}, score).ok());
  };
  const double confidence = strategy.next()->confidence;
  CHECK(confidence == Approx(1 - 0.01 / (3 * 4)));
  answer(1, 1, 1);
  answer(2, 0.9, 1.1);  // may be as fast: stays
  answer(3, 0.5, 0.7);  // slower: out
  CHECK(strategy.best()->at("A") == 1);
  answer(4, 1.05, 1.3);  // faster: leads, when the stage has ended
  CHECK(strategy.best()->at("A") == 4);
  // 2's interval reaches into 4's; the old leader lost to it.
  auto ask = strategy.next();
  REQUIRE(ask);
  CHECK(ask->configuration.at("A") == 2);
  CHECK(ask->against->at("A") == 4);
  CHECK(ask->stage == 1);
  CHECK(strategy.tell({{"A", 4}}, Score{}).ok() == false);
  CHECK(strategy.tell({{"A", 3}}, Score{}).ok() == false);
  answer(2, 0.8, 0.95);
  CHECK_FALSE(strategy.next());
  CHECK(strategy.standing().outcome == ComparisonOutcome::faster);
}

TEST_CASE("who cannot beat the leader by enough is out", "[search][racing]") {
  const auto asked = [](double worthwhile_frac) {
    const SearchSpace space = lists_space({{"A", range(1, 10)}});
    World world;
    world.us = [](const Configuration&) { return 100.0; };
    world.noise_frac = 0.001;
    Strategy strategy =
        strategy_of(space, {.kind = StrategyKind::racing, .worthwhile_frac = worthwhile_frac});
    return drive(strategy, world, 100'000).size();
  };
  CHECK(asked(0.02) == 10);
  CHECK(asked(0) > 30);
}
