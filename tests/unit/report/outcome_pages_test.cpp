// SPDX-License-Identifier: MIT
// What pages say of who won and what to do is what the outcome says: statements that must stand
// there, and statements that must not.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

namespace {

std::string recommendation(const std::string& page) {
  return line_with(page, "- **Recommendation:**");
}

/// narrow@2 won; wide@3 brought no gain over both problems, but on the large one it is faster, and
/// ahead of the rival that narrow is behind.
session::SessionView split_by_problem() {
  Story story;
  story.baseline();
  story.iteration(1, "narrow@2", "win");
  story.iteration(2, "wide@3", "no_gain");
  for (const char* problem : {k_small, k_large}) {
    const bool is_large = std::string(problem) == k_large;
    story.add(1, {.problem = problem, .candidate = "narrow@2", .against = "base@1", .speedup = 4});
    story.add(1, {.problem = problem,
                  .candidate = "narrow@2",
                  .against = "torch_a",
                  .speedup = is_large ? 0.8 : 2,
                  .role = "rival"});
    story.add(2, {.problem = problem,
                  .candidate = "wide@3",
                  .against = "narrow@2",
                  .speedup = is_large ? 1.5 : 0.5});
    story.add(2, {.problem = problem,
                  .candidate = "wide@3",
                  .against = "torch_a",
                  .speedup = is_large ? 1.2 : 1,
                  .role = "rival"});
  }
  session::SessionView view = story.close().view();
  view.iterations[2].hypothesis =
      session::Fact{view.events, "", Json{{"state", "refuted"}, {"reason", "slower"}}};
  return view;
}

/// Only the start in iterations; own@9 beside a rival on three shapes outside of them.
session::SessionView compared_only() {
  Story story;
  story.baseline();
  const double ratios[] = {1.3, 1.2, 0.94};
  for (int i = 0; i < 3; ++i) {
    story.add(std::nullopt, {.problem = "B=1 Hq=8 Hkv=8 Sq=" + std::to_string(512 << i) +
                                        " Skv=512 D=128 bf16 causal=none",
                             .candidate = "own@9",
                             .against = "torch_a",
                             .speedup = ratios[i],
                             .phase = "standalone",
                             .role = "rival",
                             .regime = "sustained"});
  }
  return story.close().view();
}

/// Two wins; on the small problem their steps multiply to 0.9 of the start.
session::SessionView lost_to_start() {
  Story story;
  story.baseline();
  story.iteration(1, "first@2", "win");
  story.iteration(2, "second@3", "win");
  for (const char* problem : {k_small, k_large}) {
    story.add(1,
              {.problem = problem, .candidate = "first@2", .against = "base@1", .speedup = 1.25});
    story.add(2, {.problem = problem,
                  .candidate = "second@3",
                  .against = "first@2",
                  .speedup = std::string(problem) == k_small ? 0.72 : 4});
  }
  return story.close().view();
}

std::string screen_of(const std::string& page) {
  return page.substr(0, page.find("\n## "));
}

}  // namespace

TEST_CASE("a variant that is ahead on some problems is dispatched there", "[report][outcome]") {
  const session::SessionView view = split_by_problem();
  const std::string page = report::render_session(view);
  INFO(page);
  CHECK(tells(recommendation(page), "Dispatch by problem: narrow@2 on 1, wide@3 on 1 (large)"));
  CHECK(tells(recommendation(page), "`sdpa-wb compare wide@3 narrow@2`"));
  CHECK(tells(line_with(page, "- **Gain:**"), "ahead of torch_a on 2 of 2, 1.55x ["));
  CHECK(tells(line_with(page, "- **Gain:**"), "Not yet confirmed in one run."));
  CHECK(tells(line_with(page, "- **Lost:**"), "0 of 2 problems to "));
  CHECK(tells(line_with(page, "| dispatch"), "take `narrow@2` on 1, `wide@3` on 1"));
  // The incumbent's figures are marked as such.
  CHECK(tells(line_with(page, "| speedup ["), " of `narrow@2`"));
  CHECK(tells(page, "yet the best on some of its problems: 1**\n\n- iteration 2 ["));
  for (const char* wrong :
       {"keep torch_a", "keep the rivals", "Do not try again", "do not try again", "| adopt"}) {
    INFO(wrong);
    CHECK_FALSE(tells(page, wrong));
  }
  const std::string handover = report::render_handover(view);
  CHECK(tells(handover, "A: dispatch `narrow@2` on 1, `wide@3` on 1"));
  CHECK(tells(handover, "The facts advise: Dispatch by problem"));
}

TEST_CASE("comparisons between iterations are a result", "[report][outcome]") {
  const session::SessionView view = compared_only();
  const std::string page = report::render_session(view);
  INFO(page);
  CHECK(tells(line_with(page, "- **Gain:**"), "ahead of torch_a on 2 of 3, behind on 1, 1.14x ["));
  const std::string lost = line_with(page, "- **Lost:**");
  CHECK(tells(lost, "1 of 3 problems to "));
  CHECK(tells(lost, " 0.94"));
  CHECK(tells(recommendation(page), "Use own@9; keep torch_a on "));
  CHECK(tells(line_with(page, "| adopt"), "take `own@9`"));
  for (const char* wrong :
       {"un iterations", "none yet", "in place of the start", "Measure a rival"}) {
    INFO(wrong);
    CHECK_FALSE(tells(page, wrong));
  }
  const std::string handover = report::render_handover(view);
  CHECK_FALSE(tells(handover, "Nothing was gained"));
  CHECK(tells(handover, "A: adopt `own@9`"));
}

TEST_CASE("what steps together lose to the start is on the first screen", "[report][outcome]") {
  const std::string page = report::render_session(lost_to_start());
  INFO(page);
  CHECK(tells(line_with(screen_of(page), "- **Lost:**"),
              "The incumbent `second@3` alone is slower than the start: small 0.90"));
  CHECK(tells(recommendation(page), "Dispatch by problem: "));
  CHECK(tells(recommendation(page), "first@2 on 1"));
}

TEST_CASE("where a rival is faster everywhere each page says to use it", "[report][outcome]") {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "win");
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "mine@2", .against = "base@1", .speedup = 2});
    story.add(1, {.problem = problem,
                  .candidate = "mine@2",
                  .against = "torch_a",
                  .speedup = 0.5,
                  .role = "rival"});
  }
  const session::SessionView view = story.close().view();
  const std::string page = report::render_session(view);
  CHECK(tells(recommendation(page), "Use torch_a on all 2 problems"));
  CHECK(tells(line_with(page, "| use the rivals"), "take torch_a on 2"));
  CHECK_FALSE(tells(page, "| adopt"));
  const std::string handover = report::render_handover(view);
  CHECK(tells(handover, "| A: use torch_a on 2"));
  CHECK_FALSE(tells(handover, "A: adopt"));
}

TEST_CASE("a session with nothing beside its start is told to go on", "[report][outcome]") {
  Story story;
  story.baseline();
  const std::string page = report::render_session(story.view());
  CHECK(tells(recommendation(page), "Run iterations"));
}

TEST_CASE("the outcome's words keep events and commands, and nothing else", "[report][outcome]") {
  CHECK(report::told("a_b 1.2x [1.1, 1.3] [e12], `sdpa-wb compare a@1 b@2` <x>") ==
        "a_b 1.2x [1.1, 1.3] [e12], `sdpa-wb compare a@1 b@2` &lt;x&gt;");
  CHECK(report::told("see [x](y)") == "see \\[x\\](y)");
  CHECK(report::told("one `tick") == "one \\`tick");
  CHECK(report::told("").empty());
}

}  // namespace wb::test
