// SPDX-License-Identifier: MIT
// What holds for every strategy: valid configurations only, none twice, reproducible, resumable.
#include "search/strategy.hpp"
#include "core/json.hpp"

#include <set>

#include "support/catch.hpp"
#include "tuning_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::variant;
using namespace wb::testing;

namespace {

constexpr StrategyKind k_all[] = {StrategyKind::exhaustive, StrategyKind::random,
                                  StrategyKind::hill_climb, StrategyKind::racing};

SearchSpace small_space() {
  return lists_space({{"A", range(1, 6)}, {"B", {8, 16, 32, 64}}, {"C", {0, 1}}},
                     {"A * B <= 192", "C == 0 || A > 1"});
}

/// Smooth, with a failing corner and one plateau.
World bumpy_world(double noise_frac = 0.01) {
  World world;
  world.noise_frac = noise_frac;
  world.us = [](const Configuration& c) {
    const double a = static_cast<double>(c.at("A")), b = std::log2(c.at("B"));
    if (a == 6 && b == 3) return 0.0;
    return 100 + 10 * std::abs(a - 3) + 15 * std::abs(b - 5) + (c.at("C") == 1 ? 0.0 : 0.5);
  };
  return world;
}

std::vector<std::string> texts(const std::vector<Evaluation>& evaluations) {
  std::vector<std::string> list;
  for (const Evaluation& item : evaluations) list.push_back(to_text(item.configuration));
  return list;
}

std::string word(StrategyKind kind) {
  return std::string(to_string(kind));
}

}  // namespace

TEST_CASE("strategies ask for every configuration of a small space", "[search][strategy]") {
  const SearchSpace space = small_space();
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Strategy strategy = strategy_of(space, {.kind = kind, .seed = seed});
      std::set<std::pair<std::string, std::int64_t>> asked;
      std::set<std::string> configurations;
      const World world = bumpy_world();
      while (const auto ask = strategy.next()) {
        REQUIRE(space.find(ask->configuration));
        REQUIRE(strategy.next()->configuration == ask->configuration);
        REQUIRE(ask->against == strategy.best());
        REQUIRE(ask->against != ask->configuration);
        REQUIRE(asked.emplace(to_text(ask->configuration), ask->stage).second);
        if (ask->stage == 0) {
          REQUIRE(configurations.insert(to_text(ask->configuration)).second);
        }
        REQUIRE((ask->stage == 0 || kind == StrategyKind::racing));
        REQUIRE(strategy.tell(ask->configuration, world.score(*ask)).ok());
      }
      REQUIRE(configurations.size() == space.size());
      const Standing standing = strategy.standing();
      CHECK(standing.told == space.size());
      CHECK(standing.valid == space.size() - 1 - 1);  // A=6 B=8 with C=0 and C=1
      // The true best is C=1 or, half a percent slower, C=0.
      CHECK(standing.best->at("A") == 3);
      CHECK(standing.best->at("B") == 32);
      CHECK(strategy.lookahead(5).empty());
    }
  }
}

TEST_CASE("a seed gives one order, another seed another", "[search][strategy]") {
  const SearchSpace space = small_space();
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    const auto run = [&](std::uint64_t seed) {
      Strategy strategy = strategy_of(space, {.kind = kind, .seed = seed});
      return texts(drive(strategy, bumpy_world(), 25));
    };
    CHECK(run(1) == run(1));
    if (kind == StrategyKind::exhaustive) {
      CHECK(run(1) == run(2));
    } else {
      CHECK(run(1) != run(2));
    }
  }
}

TEST_CASE("the start is asked first, one outside the space is left out", "[search][strategy]") {
  const SearchSpace space = small_space();
  const Configuration start{{"A", 2}, {"B", 16}, {"C", 1}};
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    const Strategy strategy = strategy_of(space, {.kind = kind, .start = start});
    CHECK(strategy.next()->configuration == start);
    CHECK(strategy.lookahead(3).front().configuration == start);
    Strategy other = strategy_of(space, {.kind = kind, .start = Configuration{{"A", 9}}});
    CHECK(drive(other, bumpy_world(), 100'000).size() >= space.size());
  }
}

TEST_CASE("after a stop anywhere, telling the log again asks for the rest", "[search][strategy]") {
  const SearchSpace space = small_space();
  const World world = bumpy_world(0.03);
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    const StrategyOptions options{.kind = kind, .seed = 5};
    Strategy whole = strategy_of(space, options);
    const auto log = drive(whole, world, 100'000);
    for (std::size_t k = 0; k <= log.size(); ++k) {
      // Through JSON, as a session keeps it.
      std::vector<Evaluation> kept(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(k));
      for (Evaluation& item : kept) {
        item.score = *score_from_json(*parse_json(to_json(item.score).dump(), "test"));
      }
      Strategy resumed = strategy_of(space, options);
      TuneLedger ledger;
      REQUIRE(replay(resumed, ledger, kept).ok());
      const auto ask = resumed.next();
      REQUIRE(ask.has_value() == (k < log.size()));
      if (!ask) continue;
      REQUIRE(ask->configuration == log[k].configuration);
      const auto rest = drive(resumed, world, 100'000, ledger);
      REQUIRE(rest.size() == log.size() - k);
      CHECK(rest.back().configuration == log.back().configuration);
      CHECK(resumed.best() == whole.best());
    }
  }
}

TEST_CASE("lookahead starts with the question and guesses well", "[search][strategy]") {
  const SearchSpace space = small_space();
  const World world = bumpy_world();
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(space, {.kind = kind, .seed = 3});
    std::set<std::string> known;
    std::vector<Guess> before;
    while (const auto ask = strategy.next()) {
      const auto guesses = strategy.lookahead(6);
      REQUIRE(guesses.size() <= 6);
      std::set<std::string> different;
      for (const Guess& guess : guesses) {
        REQUIRE(space.find(guess.configuration));
        REQUIRE_FALSE(known.contains(to_text(guess.configuration)));
        REQUIRE(different.insert(to_text(guess.configuration)).second);
      }
      if (!known.contains(to_text(ask->configuration))) {
        REQUIRE(guesses.front().configuration == ask->configuration);
        REQUIRE(guesses.front().is_certain);
        // What was certain second is first now.
        if (before.size() > 1 && before[1].is_certain) {
          REQUIRE(before[1].configuration == ask->configuration);
        }
        before = guesses;
      }
      known.insert(to_text(ask->configuration));
      REQUIRE(strategy.tell(ask->configuration, world.score(*ask)).ok());
    }
  }
}

TEST_CASE("answers that cannot be are refused", "[search][strategy]") {
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(small_space(), {.kind = kind});
    const Configuration first = strategy.next()->configuration;
    CHECK(strategy.tell({{"A", 1}}, Score{}).error().code == ErrorCode::invalid);
    Score empty;
    empty.interval = {k_unknown, k_unknown, 0.99};
    CHECK(strategy.tell(first, empty).error().message().find("without an interval") !=
          std::string::npos);
    REQUIRE(strategy.tell(first, Score{}).ok());
    CHECK(strategy.tell(first, Score{}).error().message().find("told before") != std::string::npos);
    CHECK(strategy.next()->configuration != first);
    // An ambiguous one without figures is an answer.
    empty.outcome = ComparisonOutcome::ambiguous;
    empty.speedup = k_unknown;
    CHECK(strategy.tell(strategy.next()->configuration, empty).ok());
  }
}

TEST_CASE("a space of failures is walked and has no best", "[search][strategy]") {
  const SearchSpace space = small_space();
  World world;
  world.us = [](const Configuration&) { return 0.0; };
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(space, {.kind = kind});
    CHECK(drive(strategy, world, 100'000).size() == space.size());
    CHECK_FALSE(strategy.best());
    CHECK(strategy.standing().valid == 0);
  }
}

TEST_CASE("ten million points are searched without listing them", "[search][strategy]") {
  std::map<std::string, std::vector<std::int64_t>> lists;
  for (const char* name : {"A", "B", "C", "D2", "E", "F", "G"}) lists[name] = range(1, 10);
  const SearchSpace space = lists_space(lists, {"A + B < 19"});
  World world;
  world.us = [](const Configuration& c) {
    return 100.0 + static_cast<double>(c.at("A") * c.at("B") + c.at("G"));
  };
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(space, {.kind = kind});
    std::set<std::string> asked;
    for (const Evaluation& item : drive(strategy, world, 60)) {
      CHECK(asked.insert(to_text(item.configuration)).second);
    }
    CHECK(asked.size() == 60);
    CHECK(strategy.lookahead(4).size() == 4);
  }
}

TEST_CASE("one configuration is a space too", "[search][strategy]") {
  const SearchSpace space = lists_space({{"A", {4}}});
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(space, {.kind = kind});
    World world;
    world.us = [](const Configuration&) { return 5.0; };
    CHECK(drive(strategy, world, 10).size() == 1);
    CHECK_FALSE(strategy.next());
    CHECK(strategy.standing().outcome == ComparisonOutcome::same);
  }
}

TEST_CASE("a result told unasked is not asked for", "[search][strategy]") {
  const SearchSpace space = small_space();
  const World world = bumpy_world();
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(space, {.kind = kind, .seed = 9});
    drive(strategy, world, 3);
    std::set<std::string> told;
    for (const Guess& guess : strategy.lookahead(4)) {
      Score score = invalid_score(Invalidity::compile);
      REQUIRE(strategy.tell(guess.configuration, score).ok());
      told.insert(to_text(guess.configuration));
    }
    REQUIRE(told.size() == 4);
    for (const Evaluation& item : drive(strategy, world, 100'000)) {
      CHECK_FALSE(told.contains(to_text(item.configuration)));
    }
  }
}

TEST_CASE("equal artifacts are measured once and told to all", "[search][strategy]") {
  // C does not reach the code when A is odd.
  const SearchSpace space = small_space();
  World world = bumpy_world(0.0);
  world.artifact = [](const Configuration& c) {
    Configuration code = c;
    if (c.at("A") % 2 == 1) code["C"] = 0;
    return to_text(code);
  };
  const auto flat = world.us;
  world.us = [flat](const Configuration& c) {
    Configuration code = c;
    if (c.at("A") % 2 == 1) code["C"] = 0;
    return flat(code);
  };
  for (const StrategyKind kind : k_all) {
    INFO(word(kind));
    Strategy strategy = strategy_of(space, {.kind = kind, .seed = 2, .worthwhile_frac = 0});
    std::map<std::string, int> measured;
    std::size_t duplicates = 0;
    for (const Evaluation& item : drive(strategy, world, 100'000)) {
      if (item.score.is_duplicate) {
        ++duplicates;
        // In a race the twin may be faster than the leader of a stage that has not ended.
        if (kind != StrategyKind::racing) CHECK(item.score.outcome != ComparisonOutcome::faster);
        continue;
      }
      if (kind != StrategyKind::racing) CHECK(++measured[item.artifact] == 1);
    }
    // A=3 and A=5 have a twin for each B they take; A=1 has C=0 only.
    CHECK(duplicates == 4 + 3);
    CHECK(strategy.standing().told == space.size());
    CHECK(strategy.best()->at("A") == 3);
  }
}

TEST_CASE("options out of range are refused", "[search][strategy]") {
  const SearchSpace space = small_space();
  for (const StrategyOptions& options :
       {StrategyOptions{.rounds = 0}, StrategyOptions{.confidence = 1},
        StrategyOptions{.confidence = k_unknown}, StrategyOptions{.entrants = 1},
        StrategyOptions{.stages = 0}, StrategyOptions{.worthwhile_frac = -0.1}}) {
    CHECK(Strategy::make(space, options).error().code == ErrorCode::usage);
  }
  for (const StrategyKind kind : k_all) CHECK(parse_strategy_kind(to_string(kind)) == kind);
  CHECK_FALSE(parse_strategy_kind("annealing"));
}
