// SPDX-License-Identifier: MIT
// Sentences that contradict what came of a session are found; those that follow from it are not.
#include "verbs/audit_conclusions.hpp"

#include "core/json.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

namespace {

std::vector<audit::Finding> concluded(const std::string& page, const session::SessionView& view) {
  verbs::SessionAudit audited;
  verbs::check_conclusions("session.md", page, outcome::outcome_of(view),
                           audit::Severity::contradiction, audited);
  return audited.findings;
}

/// The second win loses on the small problem more than the first gained there; the rival is behind.
session::SessionView two_wins() {
  Story story;
  story.baseline();
  story.iteration(1, "first@2", "win");
  story.iteration(2, "second@3", "win");
  for (const char* problem : {k_small, k_large}) {
    const bool is_small = std::string(problem) == k_small;
    story.add(1,
              {.problem = problem, .candidate = "first@2", .against = "base@1", .speedup = 1.25});
    story.add(1, {.problem = problem,
                  .candidate = "first@2",
                  .against = "torch_a",
                  .speedup = 1.5,
                  .role = "rival"});
    story.add(2, {.problem = problem,
                  .candidate = "second@3",
                  .against = "first@2",
                  .speedup = is_small ? 0.6 : 4});
    story.add(2, {.problem = problem,
                  .candidate = "second@3",
                  .against = "torch_a",
                  .speedup = is_small ? 0.9 : 6,
                  .role = "rival"});
  }
  return story.close().view();
}

}  // namespace

TEST_CASE("a report's own sentences follow from the outcome", "[audit][outcome]") {
  CHECK(concluded(report::render_session(two_wins()), two_wins()).empty());
}

TEST_CASE("each fault of a conclusion is found at its line", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  const std::string lost = "- **Lost:** 0 of 2 problems to `torch_a`; small 0.75x of the start.\n";
  CHECK(concluded(lost, view).empty());
  const auto hidden = concluded("- **Lost:** 0 of 2 problems to `torch_a`; won 2.\n", view);
  REQUIRE(hidden.size() == 1);
  CHECK(hidden[0].printed == "small is not named");
  const auto kept =
      concluded(lost + "- **Recommendation:** use `second@3`; keep the rivals for small.\n", view);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].line == 2);
  CHECK(kept[0].printed == "keep a rival for small");
  CHECK(concluded("- **Recommendation:** run iterations: only the baseline is measured.\n", view)
            .size() == 1);
  CHECK(concluded("Do not try again here without new evidence: `first@2` [e9]: refuted.\n", view)
            .size() == 1);
}

}  // namespace wb::test
