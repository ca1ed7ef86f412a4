// SPDX-License-Identifier: MIT
// The bias of figures that chose what they describe.
#include <cmath>

#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using namespace outcome;
using measure::ComparisonOutcome;
using outcome::Outcome;  // core has one, too

namespace {

/// One win on both problems beside two rivals, of which the second is at `ratio` of the first.
Outcome beside_two(double ratio, double spread) {
  Story story;
  story.baseline();
  story.iteration(1, "new@2", "win");
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "new@2", .against = "base@1", .speedup = 2});
    story.add(1, {.problem = problem,
                  .candidate = "new@2",
                  .against = "torch_a",
                  .speedup = 1.5,
                  .role = "rival",
                  .spread = spread});
    story.add(1, {.problem = problem,
                  .candidate = "new@2",
                  .against = "torch_b",
                  .speedup = 1.5 * ratio,
                  .role = "rival",
                  .spread = spread});
  }
  return outcome_of(story.view());
}

}  // namespace

TEST_CASE("rivals that differ clearly leave no bias") {
  CHECK(beside_two(2, 1.02).chosen()->selection_bias == Approx(1).margin(0.001));
}

TEST_CASE("the lowest of two equal figures is too low, and the interval allows for it") {
  const double spread = 1.10;
  const Outcome outcome = beside_two(1, spread);
  // The mean of the lower of two normal numbers lies 1 / sqrt(pi) deviations below theirs.
  const double deviation = std::log(spread) / 2.5758;
  const double expected = std::exp(-deviation / std::sqrt(3.14159265));
  CHECK(outcome.chosen()->selection_bias == Approx(expected).epsilon(0.003));
  const measure::Aggregate& mean = *outcome.chosen()->over_rival.mean;
  CHECK(mean.value == Approx(1.5));
  CHECK(mean.interval.low == Approx(1.5 / spread));
  CHECK(mean.interval.high > 1.5 * spread * 1.01);
  CHECK(paragraph(outcome).find("too low") != std::string::npos);
}

TEST_CASE("a variant that was chosen by a close figure flatters the choice") {
  Story story;
  story.baseline();
  story.iteration(1, "new@2", "win");
  story.iteration(2, "twin@3", "no_gain");
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "new@2", .against = "base@1", .speedup = 2});
    story.add(1, {.problem = problem,
                  .candidate = "new@2",
                  .against = "torch_a",
                  .speedup = 1.5,
                  .role = "rival"});
    // Just shown faster on the large problem, clearly slower on the small one.
    const bool is_large = std::string(problem) == k_large;
    story.add(2, {.problem = problem,
                  .candidate = "twin@3",
                  .against = "new@2",
                  .speedup = is_large ? 1.10 : 0.5,
                  .spread = 1.09});
    story.add(2, {.problem = problem,
                  .candidate = "twin@3",
                  .against = "torch_a",
                  .speedup = is_large ? 1.65 : 0.75,
                  .role = "rival"});
  }
  const Outcome outcome = outcome_of(story.view());
  REQUIRE(outcome.recommendation.advice == Advice::dispatch);
  CHECK(outcome.chosen()->selection_bias > 1.003);
  CHECK(outcome.chosen()->selection_bias < 1.03);
  CHECK(outcome.groups[0].single.selection_bias == Approx(1));
}

TEST_CASE("the same session has the same outcome, whenever it is made") {
  CHECK(to_json(beside_two(1, 1.1)).dump() == to_json(beside_two(1, 1.1)).dump());
}

// What is slower than the start is found, though no comparison says so: steps multiply.

namespace {

/// Two wins over both problems together; the second loses on the small one what the first gained,
/// and more.
Story hidden_regression(double second_small) {
  Story story;
  story.baseline();
  story.iteration(1, "first@2", "win");
  story.add(1, {.problem = k_small, .candidate = "first@2", .against = "base@1", .speedup = 1.25});
  story.add(1, {.problem = k_large, .candidate = "first@2", .against = "base@1", .speedup = 1.25});
  story.iteration(2, "second@3", "win");
  story.add(
      2,
      {.problem = k_small, .candidate = "second@3", .against = "first@2", .speedup = second_small});
  story.add(2, {.problem = k_large, .candidate = "second@3", .against = "first@2", .speedup = 4});
  return story;
}

}  // namespace

TEST_CASE("steps that multiply to less than 1 are a loss to the start") {
  const Story story = hidden_regression(0.7);
  const Outcome outcome = outcome_of(story.view());
  const Standing* incumbent = outcome.groups[0].problems[0].find("second@3");
  REQUIRE(incumbent != nullptr);
  CHECK(incumbent->over_start->speedup == Approx(1.25 * 0.7));
  CHECK(incumbent->over_start->interval.low == Approx(1.25 * 0.7 / 1.01 / 1.01));
  CHECK(incumbent->over_start->interval.high == Approx(1.25 * 0.7 * 1.01 * 1.01));
  CHECK(incumbent->over_start->outcome == ComparisonOutcome::slower);
  CHECK(incumbent->over_start->events.size() == 2);
  CHECK(outcome.groups[0].single.over_start.slower == std::vector<std::size_t>{0});
  // The dispatch does not take it there, and the words name it all the same.
  CHECK(outcome.groups[0].problems[0].best == "first@2");
  CHECK(outcome.chosen()->over_start.slower.empty());
  CHECK(losses(outcome).find("The incumbent second@3 alone is slower than the start: small") !=
        std::string::npos);
}

TEST_CASE("steps whose intervals reach 1 are neither a gain nor a loss") {
  const Outcome outcome = outcome_of(hidden_regression(0.795).view());
  const Standing* incumbent = outcome.groups[0].problems[0].find("second@3");
  CHECK(incumbent->over_start->outcome == ComparisonOutcome::ambiguous);
  CHECK(losses(outcome).find("slower than the start") == std::string::npos);
}

TEST_CASE("`same` of an older log with a wide interval is not the same") {
  Story story;
  story.baseline();
  story.iteration(1, "first@2", "no_gain");
  story.add(1, {.problem = k_small,
                .candidate = "first@2",
                .against = "base@1",
                .speedup = 1.02,
                .outcome = "same",
                .spread = 1.2});
  const Outcome outcome = outcome_of(story.view());
  CHECK(outcome.groups[0].problems[0].find("first@2")->over_start->outcome ==
        ComparisonOutcome::ambiguous);
}

}  // namespace wb::test
