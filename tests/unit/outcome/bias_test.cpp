// SPDX-License-Identifier: MIT
// The bias of figures that chose what they describe.
#include <cmath>

#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using namespace outcome;
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

}  // namespace wb::test
