// SPDX-License-Identifier: MIT
// What is slower than the start is found, though no comparison says so: steps multiply.
#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using namespace outcome;
using measure::ComparisonOutcome;
using outcome::Outcome;  // core has one, too

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
