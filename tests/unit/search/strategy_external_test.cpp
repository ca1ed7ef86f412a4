// SPDX-License-Identifier: MIT
// tpe, cma_es, gp: what an external search is told, and how its proposals are used.
#include <set>

#include "core/json.hpp"
#include "search/program.hpp"
#include "search/strategy.hpp"
#include "support/catch.hpp"
#include "tuning_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::search;
using namespace wb::variant;
using namespace wb::testing;

namespace {

/// Proposes from a list, then nothing; keeps what it was told.
struct Scripted {
  std::vector<Configuration> proposals;
  std::vector<Told> told;
  std::vector<std::size_t> wants;
  std::size_t next = 0;

  StrategyOptions options(std::int64_t in_flight = 1, std::optional<Configuration> start = {}) {
    StrategyOptions options{.kind = StrategyKind::tpe, .start = std::move(start)};
    options.in_flight = in_flight;
    options.make_proposer = [this](StrategyKind, const SearchSpace&,
                                   std::uint64_t) -> Result<Proposer> {
      return Proposer{"scripted 1", [this](std::span<const Told> news, std::size_t want) {
                        told.insert(told.end(), news.begin(), news.end());
                        wants.push_back(want);
                        std::vector<Configuration> some;
                        while (some.size() < want && next < proposals.size()) {
                          some.push_back(proposals[next++]);
                        }
                        return Result<std::vector<Configuration>>(std::move(some));
                      }};
    };
    return options;
  }
};

SearchSpace space() {
  return lists_space({{"A", range(1, 4)}, {"B", {8, 16}}}, {"A * B <= 32"});  // not A > 2, B = 16
}

Configuration at(std::int64_t a, std::int64_t b) {
  return {{"A", a}, {"B", b}};
}

Score speedup(double value, ComparisonOutcome outcome) {
  Score score;
  score.outcome = outcome;
  score.speedup = value;
  score.interval = {value * 0.99, value * 1.01, 0.99};
  return score;
}

}  // namespace

TEST_CASE("a search elsewhere is asked after the start and hears every answer",
          "[search][strategy]") {
  Scripted search{.proposals = {at(2, 8), at(3, 8), at(4, 8)}, .told = {}, .wants = {}};
  Strategy strategy = strategy_of(space(), search.options(1, at(1, 8)));
  CHECK(strategy.about() == "scripted 1");
  CHECK(search.wants.empty());
  CHECK(strategy.next()->configuration == at(1, 8));
  REQUIRE(strategy.tell(at(1, 8), first_score({})).ok());
  CHECK(strategy.next()->configuration == at(2, 8));
  CHECK(strategy.next()->against == at(1, 8));
  REQUIRE(strategy.tell(at(2, 8), speedup(2, ComparisonOutcome::faster)).ok());
  REQUIRE(strategy.tell(at(3, 8), speedup(0.5, ComparisonOutcome::slower)).ok());
  REQUIRE(strategy.tell(at(4, 8), invalid_score(Invalidity::compile)).ok());
  REQUIRE(search.told.size() == 4);
  CHECK(search.told[0].log_time == 0);
  CHECK(search.told[1].log_time == Approx(-std::log(2)));
  CHECK(search.told[2].log_time == Approx(0).margin(1e-12));  // half of twice as fast
  CHECK_FALSE(std::isfinite(search.told[3].log_time));
  CHECK(search.told[3].invalidity == Invalidity::compile);
  CHECK(*strategy.best() == at(2, 8));
}

TEST_CASE("what a search elsewhere may not ask it is told at once", "[search][strategy]") {
  Scripted search{.proposals = {at(1, 8), at(4, 16), at(1, 8), at(2, 16)}, .told = {}, .wants = {}};
  Strategy strategy = strategy_of(space(), search.options());
  REQUIRE(strategy.tell(at(1, 8), first_score({})).ok());
  CHECK(strategy.next()->configuration == at(2, 16));
  REQUIRE(search.told.size() == 3);
  CHECK(search.told[1].configuration == at(4, 16));
  CHECK(search.told[1].invalidity == Invalidity::constraints);
  CHECK(search.told[2].configuration == at(1, 8));
  CHECK(search.told[2].log_time == 0);
}

TEST_CASE("a search elsewhere that only repeats itself does not end the tune",
          "[search][strategy]") {
  Scripted search{.proposals = std::vector<Configuration>(500, at(4, 16)), .told = {}, .wants = {}};
  Strategy strategy = strategy_of(space(), search.options());
  std::set<Configuration> asked;
  while (const auto ask = strategy.next()) {
    REQUIRE(space().find(ask->configuration));
    REQUIRE(asked.insert(ask->configuration).second);
    const Score score =
        asked.size() == 1 ? first_score({}) : speedup(1, ComparisonOutcome::ambiguous);
    REQUIRE(strategy.tell(ask->configuration, score).ok());
  }
  CHECK(asked.size() == space().size());
}

TEST_CASE("several questions to a search elsewhere are in flight", "[search][strategy]") {
  Scripted search{
      .proposals = {at(1, 8), at(1, 8), at(2, 8), at(3, 8), at(4, 8)}, .told = {}, .wants = {}};
  Strategy strategy = strategy_of(space(), search.options(3));
  std::vector<Configuration> open;
  for (const Guess& guess : strategy.lookahead(10)) {
    CHECK(guess.is_certain);
    open.push_back(guess.configuration);
  }
  CHECK(open == std::vector{at(1, 8), at(2, 8), at(3, 8)});
  CHECK(search.wants == std::vector<std::size_t>{3, 1});
  // Answers come in any order; the question that waits longest stays the next.
  REQUIRE(strategy.tell(at(2, 8), first_score({})).ok());
  CHECK(strategy.next()->configuration == at(1, 8));
  CHECK(strategy.lookahead(10).back().configuration == at(4, 8));
}

TEST_CASE("a search elsewhere that fails, or is not there, is an error", "[search][strategy]") {
  const auto alone = Strategy::make(space(), {.kind = StrategyKind::gp});
  REQUIRE_FALSE(alone.ok());
  CHECK(alone.error().code == ErrorCode::usage);
  CHECK(alone.error().message().find("only a Python program can ask Optuna") != std::string::npos);

  StrategyOptions options{.kind = StrategyKind::cma_es};
  bool fails = false;
  options.make_proposer = proposers_of(
      [&](const Json& question) -> Result<Json> {
        if (question["ask"] == "search") {
          CHECK(question["strategy"] == "cma_es");
          CHECK(question["parameters"] == Json{{"A", {1, 2, 3, 4}}, {"B", {8, 16}}});
          return Json{{"search", 7}, {"about", "played"}};
        }
        CHECK(question["search"] == 7);
        if (fails) return Error{ErrorCode::canceled, "ask", "it", "it stops", ""};
        return Json{{"configurations", {{{"A", 1}, {"B", 8}}}}};
      },
      1);
  Strategy strategy = strategy_of(space(), options);
  fails = true;
  const auto told = strategy.tell(at(1, 8), first_score({}));
  REQUIRE_FALSE(told.ok());
  CHECK(told.error().code == ErrorCode::canceled);
}
