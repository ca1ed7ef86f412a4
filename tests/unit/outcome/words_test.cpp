// SPDX-License-Identifier: MIT
// The sentences of an outcome.
#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using namespace outcome;
using outcome::Outcome;  // core has one, too

namespace {

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// new@2 wins both; wide@3 is faster on the large problem, where new is behind torch_a.
Story dispatched() {
  Story story;
  story.baseline();
  story.iteration(1, "new@2", "win");
  story.iteration(2, "wide@3", "no_gain");
  for (const char* problem : {k_small, k_large}) {
    const bool is_large = std::string(problem) == k_large;
    story.add(1, {.problem = problem, .candidate = "new@2", .against = "base@1", .speedup = 4});
    story.add(1, {.problem = problem,
                  .candidate = "new@2",
                  .against = "torch_a",
                  .speedup = is_large ? 0.8 : 2,
                  .role = "rival",
                  .spread = 1.05});
    story.add(2, {.problem = problem,
                  .candidate = "wide@3",
                  .against = "new@2",
                  .speedup = is_large ? 1.5 : 0.5});
    story.add(2, {.problem = problem,
                  .candidate = "wide@3",
                  .against = "torch_a",
                  .speedup = is_large ? 1.2 : 1,
                  .role = "rival",
                  .spread = 1.05});
  }
  return story;
}

}  // namespace

TEST_CASE("a dispatch is said with its parts, its counts and how to confirm it") {
  const Outcome outcome = outcome_of(dispatched().view());
  const std::string line = headline(outcome);
  CHECK(says(line,
             "dispatch: new@2 on 1, wide@3 on 1; ahead of torch_a on 2 of 2, 1.55x [1.48, "
             "1.63] [e"));
  CHECK(says(line, " over the start"));
  CHECK(line.find('\n') == std::string::npos);
  CHECK(says(advice_words(outcome), "Dispatch by problem: new@2 on 1, wide@3 on 1 (large)"));
  CHECK(
      says(advice_words(outcome), "confirm by `sdpa-wb compare wide@3 new@2` in one run on large"));
  CHECK(losses(outcome).empty());
}

TEST_CASE("a rival that stays ahead is kept, and the loss has its figure and event") {
  Story story;
  story.baseline();
  story.iteration(1, "new@2", "win");
  std::int64_t lost = 0;
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "new@2", .against = "base@1", .speedup = 4});
    lost = story.add(1, {.problem = problem,
                         .candidate = "new@2",
                         .against = "torch_a",
                         .speedup = std::string(problem) == k_large ? 0.8 : 2,
                         .role = "rival",
                         .spread = 1.05});
  }
  const Outcome outcome = outcome_of(story.view());
  CHECK(says(headline(outcome), "adopt new@2; ahead of torch_a on 1 of 2, behind on 1, 1.26x"));
  CHECK(says(losses(outcome), "Slower than a rival: large 0.80x [0.76, 0.84] [e" +
                                  std::to_string(lost) + "] of torch_a."));
  CHECK(advice_words(outcome) == "Use new@2 in place of the start; keep torch_a on large.");
  CHECK(says(paragraph(outcome), "Adopt new@2; ahead of"));
}

TEST_CASE("where every rival is faster the words do not say ahead of it") {
  Story story;
  story.baseline();
  for (const char* problem : {k_small, k_large}) {
    story.add(0, {.problem = problem,
                  .candidate = "base@1",
                  .against = "torch_a",
                  .speedup = 0.5,
                  .phase = "baseline",
                  .role = "rival"});
  }
  const Outcome outcome = outcome_of(story.view());
  CHECK(says(headline(outcome),
             "use torch_a on 2; the best own choice is ahead of torch_a on 0 of 2, behind on 2"));
  CHECK(advice_words(outcome) ==
        "Use torch_a on all 2 problems: it is ahead of the best variant here. The best own choice "
        "reaches 0.500x of it on average. To go on, develop the start base@1: no other variant was "
        "measured.");
}

namespace {

/// new@2 is the best single variant and wide@3 faster on the large problem; each is behind a rival
/// of its own.
Story behind_everywhere() {
  Story story = dispatched();
  story.add(2, {.problem = k_small,
                .candidate = "new@2",
                .against = "torch_b",
                .speedup = 0.4,
                .role = "rival"});
  story.add(2, {.problem = k_large,
                .candidate = "wide@3",
                .against = "torch_a",
                .speedup = 0.5,
                .role = "rival"});
  return story;
}

}  // namespace

TEST_CASE("where a rival is faster on every problem the rivals come first") {
  const Outcome outcome = outcome_of(behind_everywhere().view());
  CHECK(outcome.recommendation.develop == "new@2");
  CHECK_FALSE(outcome.recommendation.confirmation);
  const std::string advice = advice_words(outcome);
  INFO(advice);
  CHECK(advice.starts_with(
      "Use torch_a on large and torch_b on small: each is ahead of the best variant here. The best "
      "own choice reaches 0.4"));
  CHECK(
      says(advice, " of them on average. To go on, develop new@2: it is the best single variant."));
  CHECK_FALSE(says(advice, "ispatch"));
  CHECK_FALSE(says(advice, "confirm"));
  CHECK(headline(outcome).starts_with("use torch_a on 1, torch_b on 1; the best own choice is "));
  CHECK(rivals_to_use(outcome) == "torch_a on 1, torch_b on 1");
  const Json made = to_json(outcome)["recommendation"];
  CHECK(made["advice"] == "use_rivals");
  CHECK(made["develop"] == "new@2");
  CHECK(made["confirm"].is_null());
  CHECK(made["keep_rival"].size() == 2);
  // The best choice of own variants stays known.
  CHECK(outcome.chosen()->variants == std::vector<std::string>{"new@2", "wide@3"});
}

TEST_CASE("a part of a dispatch that is behind a rival is neither used nor confirmed") {
  Story story = dispatched();
  story.add(2, {.problem = k_large,
                .candidate = "wide@3",
                .against = "torch_a",
                .speedup = 0.5,
                .role = "rival"});
  const Outcome outcome = outcome_of(story.view());
  CHECK(outcome.recommendation.develop.empty());
  CHECK(outcome.recommendation.advice == Advice::adopt);
  REQUIRE(outcome.recommendation.parts.size() == 1);
  CHECK(outcome.recommendation.parts[0].variant == "new@2");
  CHECK(outcome.recommendation.parts[0].problems == std::vector<std::size_t>{0});
  CHECK_FALSE(outcome.recommendation.confirmation);
  CHECK_FALSE(outcome.takes("wide@3"));
  CHECK(advice_words(outcome) == "Use new@2 in place of the start; keep torch_a on large.");
}

TEST_CASE("the start stays where another variant is faster only behind a rival") {
  Story story;
  story.baseline();
  story.iteration(1, "wide@3", "no_gain");
  for (const char* problem : {k_small, k_large}) {
    const bool is_large = std::string(problem) == k_large;
    story.add(0, {.problem = problem,
                  .candidate = "base@1",
                  .against = "torch_a",
                  .speedup = is_large ? 0.5 : 2,
                  .phase = "baseline",
                  .role = "rival"});
    story.add(1, {.problem = problem,
                  .candidate = "wide@3",
                  .against = "base@1",
                  .speedup = is_large ? 1.5 : 0.5});
  }
  CHECK(advice_words(outcome_of(story.view())) ==
        "Keep the start base@1: another variant is faster only where a rival is faster still; keep "
        "torch_a on large.");
}

TEST_CASE("the advice to keep the start says why") {
  Story story;
  story.baseline();
  story.iteration(1, "new@2", "no_gain");
  for (const char* problem : {"", k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "new@2", .against = "base@1", .speedup = 0.7});
  }
  CHECK(says(advice_words(outcome_of(story.view())),
             "Keep the start base@1: no other variant is shown faster (the best of them: 0.700x "
             "[0.693, 0.707])"));
  Story same;
  same.baseline();
  same.iteration(1, "new@2", "no_gain");
  for (const char* problem : {"", k_small, k_large}) {
    same.add(1, {.problem = problem, .candidate = "new@2", .against = "base@1", .speedup = 1.005});
  }
  CHECK(start_reason(outcome_of(same.view())) == "no other variant is shown faster");
  Story failed;
  failed.baseline();
  failed.iteration(1, "new@2", "invalid");
  failed.iteration(2, "new@3", "invalid");
  for (const char* problem : {k_small, k_large}) {
    failed.add(0, {.problem = problem,
                   .candidate = "base@1",
                   .against = "torch_a",
                   .speedup = 2,
                   .phase = "baseline",
                   .role = "rival"});
  }
  CHECK(says(advice_words(outcome_of(failed.view())),
             "Keep the start base@1: none of 2 iterations brought a confirmed gain"));
  Story won;
  won.baseline();
  won.iteration(1, "new@2", "win");
  won.add(1, {.problem = k_small, .candidate = "new@2", .against = "base@1", .speedup = 2});
  CHECK(start_reason(outcome_of(won.view())).empty());
}

TEST_CASE("names of others cannot steer a terminal") {
  Story story("base@1");
  story.baseline();
  story.iteration(1, "new\x1b[2J@2", "win");
  story.add(1,
            {.problem = k_small, .candidate = "new\x1b[2J@2", .against = "base@1", .speedup = 4});
  CHECK(paragraph(outcome_of(story.view())).find('\x1b') == std::string::npos);
}

TEST_CASE("a name cannot look like an event or a command") {
  Story story("base@1");
  story.baseline();
  story.iteration(1, "new[e7]`rm`@2", "win");
  story.add(1,
            {.problem = k_small, .candidate = "new[e7]`rm`@2", .against = "base@1", .speedup = 4});
  const std::string words = paragraph(outcome_of(story.view()));
  CHECK(says(words, "new(e7)'rm'@2"));
  CHECK_FALSE(says(words, "[e7]"));
}

}  // namespace wb::test
