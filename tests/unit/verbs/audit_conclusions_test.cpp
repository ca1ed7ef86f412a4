// SPDX-License-Identifier: MIT
// Sentences that contradict what came of a session are found; those that follow from it are not.
#include "verbs/audit_conclusions.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "report/report.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
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

/// What is found in a line of a kept session's report as an older version made it.
std::vector<std::string> found_in(const std::string& session, const std::string& line) {
  const RealFileSystem files;
  const auto storage =
      session::open_storage(files, source_dir() / "sessions" / (session + ".tar.gz"));
  REQUIRE(storage.ok());
  const auto log = session::EventLog::open_reader(**storage);
  REQUIRE(log.ok());
  const auto view = session::fold(*log, session::FoldDepth::full);
  REQUIRE(view.ok());
  std::vector<std::string> printed;
  for (const audit::Finding& finding : concluded(line, *view)) printed.push_back(finding.printed);
  return printed;
}

}  // namespace

TEST_CASE("a report's own sentences follow from the outcome", "[audit][outcome]") {
  CHECK(concluded(report::render_session(two_wins()), two_wins()).empty());
}

TEST_CASE("each fault of a conclusion is found at its line", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  const std::string lost =
      "- **Lost:** 0 of 2 problems to `torch_a`; won 2. The incumbent `second@3` alone is slower "
      "than the start: small 0.75x.\n";
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

TEST_CASE("faults of kept reports as older versions made them are found", "[audit][outcome]") {
  CHECK(found_in("ladder",
                 "- **Recommendation:** use `sm80_mma_flash@b4ef2ed2` in place of the start; keep "
                 "the rivals for it3_B16H8S512, v3_B8H16, v3_B4H16.\n")
            .size() == 3);
  CHECK(found_in("h200-part2-whole",
                 "- **Recommendation:** run iterations: only the baseline is measured.\n") ==
        std::vector<std::string>{"run iterations"});
  const auto hidden =
      found_in("n6-baseline",
               "- **Lost:** 11 of 11 problems to the fastest rival of each (`torch_default`, "
               "`torch_flash`): n6_B8H4 0.0943x [0.0941, 0.0945] [e5924]; won 0, same 0, ambiguous "
               "0. Slower than before: n6_S4 0.977x [0.974, 0.980] [e5892].\n");
  CHECK(std::find(hidden.begin(), hidden.end(), "n6_B8H4 is not named") != hidden.end());
}

}  // namespace wb::test
