// SPDX-License-Identifier: MIT
// Two variants that win on different problems are told apart by one property without an exception,
// or not at all.
#include "outcome/siblings.hpp"

#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "support/catch.hpp"

namespace wb::test {

using namespace outcome;
using outcome::Outcome;  // core has one, too

namespace {

Contest won(const char* problem, bool first_won) {
  return {*problem::parse_problem(problem), first_won};
}

Figure figure(double speedup, double spread = 1.01) {
  Figure made;
  made.speedup = speedup;
  made.interval = {speedup / spread, speedup * spread, 0.99};
  made.outcome = speedup > 1.01   ? measure::ComparisonOutcome::faster
                 : speedup < 0.99 ? measure::ComparisonOutcome::slower
                                  : measure::ComparisonOutcome::same;
  return made;
}

/// The suite of a session with the start "base@1" and figures of two other variants over it.
struct FiguresOn {
  const char* problem;
  double one, two;
};
Outcome outcome_with(const std::vector<FiguresOn>& rows) {
  Outcome made;
  made.start = "base@1";
  Group group;
  group.is_suite = true;
  for (const FiguresOn& row : rows) {
    ProblemOutcome problem;
    problem.problem = row.problem;
    for (const auto& [variant, speedup] :
         {std::pair("base@1", 1.0), std::pair("one@2", row.one), std::pair("two@3", row.two)}) {
      Standing standing;
      standing.variant = variant;
      standing.over_start = figure(speedup);
      problem.standings.push_back(std::move(standing));
    }
    group.problems.push_back(std::move(problem));
  }
  made.groups.push_back(std::move(group));
  return made;
}

const Contrast* between(const std::vector<Contrast>& all, const char* above, const char* below) {
  for (const Contrast& one : all) {
    if (one.above == above && one.below == below) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("blocks separate the wins where they do, whoever is named first") {
  const std::vector<Contest> contests{won("B=1 Hq=4 Sq=512 D=64 f16", false),   // 32 blocks
                                      won("B=1 Hq=1 Sq=2048 D=64 f16", false),  // 32
                                      won("B=1 Hq=8 Sq=512 D=64 f16", true),    // 64
                                      won("B=8 Hq=16 Sq=512 D=64 f16", true)};  // 1024
  const auto found = contrast_of("a@1", "b@2", contests);
  REQUIRE(found.has_value());
  CHECK(found->property == "blocks");
  CHECK(found->above == "a@1");
  CHECK(found->from == 64);
  CHECK(found->ahead == 2);
  CHECK(found->behind == 2);
  CHECK(found->words() ==
        "a@1 ahead from 64 blocks of 64 query rows on, b@2 up to 32 (2 and 2 problems)");
  std::vector<Contest> turned = contests;
  for (Contest& one : turned) one.first_won = !one.first_won;
  const auto other = contrast_of("b@2", "a@1", turned);
  REQUIRE(other.has_value());
  CHECK(other->words() == found->words());
}

TEST_CASE("a property that has one exception separates nothing, the next one may") {
  // The same 64 blocks on both sides; the keys tell them apart.
  std::vector<Contest> contests{won("B=1 Hq=8 Sq=512 Skv=512 D=64 f16", false),
                                won("B=1 Hq=8 Sq=512 Skv=1024 D=64 f16", false),
                                won("B=1 Hq=8 Sq=512 Skv=4096 D=64 f16", true),
                                won("B=1 Hq=8 Sq=512 Skv=8192 D=64 f16", true)};
  const auto keys = contrast_of("a@1", "b@2", contests);
  REQUIRE(keys.has_value());
  CHECK(keys->property == "Skv");
  CHECK(keys->words() == "a@1 ahead where Skv >= 4096, b@2 up to 1024 (2 and 2 problems)");
  contests.push_back(won("B=1 Hq=8 Sq=512 Skv=8192 D=64 f16", false));
  CHECK_FALSE(contrast_of("a@1", "b@2", contests).has_value());
}

TEST_CASE("head dim, causal and mask separate, too") {
  const auto head = contrast_of(
      "a@1", "b@2",
      {won("B=1 Hq=8 Sq=512 D=64 f16", true), won("B=2 Hq=8 Sq=512 D=64 f16", true),
       won("B=1 Hq=8 Sq=512 D=128 f16", false), won("B=2 Hq=8 Sq=512 D=128 f16", false)});
  REQUIRE(head.has_value());
  CHECK(head->words() == "b@2 ahead where D >= 128, a@1 up to 64 (2 and 2 problems)");
  const auto causal =
      contrast_of("a@1", "b@2",
                  {won("B=1 Hq=8 Sq=512 D=64 f16 causal=top_left", true),
                   won("B=2 Hq=8 Sq=512 D=64 f16 causal=bottom_right", true),
                   won("B=1 Hq=8 Sq=512 D=64 f16", false), won("B=2 Hq=8 Sq=512 D=64 f16", false)});
  REQUIRE(causal.has_value());
  CHECK(causal->words() ==
        "a@1 ahead where the problem is causal, b@2 elsewhere (2 and 2 problems)");
}

TEST_CASE("few wins, or those of one side only, say nothing") {
  const Contest small = won("B=1 Hq=1 Sq=64 D=64 f16", false);
  const Contest large = won("B=8 Hq=16 Sq=512 D=64 f16", true);
  CHECK_FALSE(contrast_of("a@1", "b@2", {}).has_value());
  CHECK_FALSE(contrast_of("a@1", "b@2", {small, large, large, large}).has_value());
  CHECK_FALSE(contrast_of("a@1", "b@2", {large, large, large}).has_value());
}

TEST_CASE("variants of a session are contrasted by their figures over the start") {
  const std::vector<FiguresOn> rows{{"B=1 Hq=1 Sq=64 D=64 f16", 1.5, 1.1},
                                    {"B=1 Hq=2 Sq=64 D=64 f16", 1.4, 1.2},
                                    {"B=8 Hq=8 Sq=512 D=64 f16", 1.1, 1.3},
                                    {"B=8 Hq=16 Sq=512 D=64 f16", 0.8, 1.3},
                                    {"B=8 Hq=32 Sq=512 D=64 f16", 0.9, 0.905}};
  const Outcome outcome = outcome_with(rows);
  const auto all = contrasts_of(outcome);
  // The last problem decides nothing between them: their intervals meet.
  const Contrast* siblings = between(all, "two@3", "one@2");
  REQUIRE(siblings != nullptr);
  CHECK(siblings->property == "blocks");
  CHECK(siblings->from == 512);
  CHECK(siblings->ahead == 2);
  CHECK(siblings->behind == 2);
  // The start beside the first: it is ahead on the two largest.
  const Contrast* start = between(all, "base@1", "one@2");
  REQUIRE(start != nullptr);
  CHECK(start->from == 1024);
  CHECK(to_json(*siblings)["says"] == siblings->words());
  // Two wins everywhere are no contrast, and held-out problems are none.
  Outcome hidden = outcome;
  for (ProblemOutcome& one : hidden.groups[0].problems) one.held_out = true;
  CHECK(contrasts_of(hidden).empty());
  CHECK(contrasts_of(Outcome()).empty());
}

}  // namespace wb::test
