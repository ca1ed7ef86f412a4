// SPDX-License-Identifier: MIT
#include <set>

#include "recorded_world.hpp"
#include "search/simulation.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::variant;
using namespace wb::testing;

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
