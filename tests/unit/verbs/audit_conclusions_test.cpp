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

verbs::SessionAudit held(const std::string& page, const session::SessionView& view,
                         const std::vector<std::string>& losers = {}) {
  verbs::SessionAudit audited;
  verbs::check_conclusions("session.md", page, verbs::Concluded(view, losers),
                           audit::Severity::contradiction, audited);
  for (const audit::Finding& finding : audited.findings) {
    CHECK(finding.check == verbs::k_conclusions_check);
  }
  return audited;
}

std::vector<audit::Finding> concluded(const std::string& page, const session::SessionView& view) {
  return held(page, view).findings;
}

/// What is printed in the findings, in their order.
std::vector<std::string> printed_in(const std::string& page, const session::SessionView& view,
                                    const std::vector<std::string>& losers = {}) {
  std::vector<std::string> printed;
  for (const audit::Finding& finding : held(page, view, losers).findings) {
    printed.push_back(finding.printed);
  }
  return printed;
}

using Printed = std::vector<std::string>;

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
  return printed_in(line, *view);
}

/// Every page of this version follows from the outcome.
void check_own_pages(const session::SessionView& view) {
  for (const std::string& page : {report::render_session(view), report::render_summary(view),
                                  report::render_handover(view), report::render_root_cause(view)}) {
    INFO(page);
    CHECK(printed_in(page, view).empty());
  }
}

/// The causes of the incumbent: one supported, one refuted.
session::SessionView with_causes(session::SessionView view) {
  Json causes = Json::array();
  causes.push_back({{"cause", "a"}, {"title", "too few blocks"}, {"state", "supported"}});
  causes.push_back({{"cause", "b"}, {"title", "narrow loads"}, {"state", "refuted"}});
  Json decided = Json::object();
  decided["causes"] = std::move(causes);
  view.causes = session::Fact{view.events, "", std::move(decided)};
  return view;
}

/// The second iteration predicted 1.40x and measured that; its event is 77.
session::SessionView with_prediction(session::SessionView view, double measured) {
  view.iterations[2].hypothesis = session::Fact{
      77, "",
      Json{{"state", "refuted"},
           {"reason", measured > 1 ? "faster" : "slower"},
           {"predicted_speedup", 1.4},
           {"measured_speedup", measured},
           {"interval",
            {{"low", measured - 0.005}, {"high", measured + 0.005}, {"confidence", 0.99}}}}};
  return view;
}

}  // namespace

TEST_CASE("a report's own sentences follow from the outcome", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  for (const std::string& page : {report::render_session(view), report::render_summary(view),
                                  report::render_handover(view)}) {
    const verbs::SessionAudit audited = held(page, view);
    CHECK(audited.findings.empty());
    CHECK(audited.sentences >= 4);
  }
}

TEST_CASE("pages of sessions with little in them contradict nothing", "[audit][outcome]") {
  Story start;
  start.baseline();
  check_own_pages(Story().view());
  check_own_pages(start.view());
  session::SessionView alone = start.close().view();
  alone.opened.payload["rivals"] = Json::array();
  alone.opened.payload["budget"] = {{"evaluations", 0}, {"usd", 0.0}};
  check_own_pages(alone);

  Story failed;
  failed.baseline();
  failed.iteration(1, "mine@2", "invalid");
  failed.iteration(2, "mine@3", "abandoned");
  failed.iteration(3, "mine@4", "open");
  check_own_pages(failed.view());

  Story lost;  // one problem, no win, and ahead in another regime than the objective's
  lost.baseline();
  lost.iteration(1, "mine@2", "no_gain");
  lost.add(1, {.problem = k_small, .candidate = "mine@2", .against = "base@1", .speedup = 0.7});
  lost.add(std::nullopt, {.problem = k_small,
                          .candidate = "mine@2",
                          .against = "torch_a",
                          .speedup = 1.2,
                          .phase = "standalone",
                          .role = "rival",
                          .regime = "sustained"});
  session::SessionView view = lost.close().view();
  check_own_pages(view);
  view.opened.payload["suite"]["problems"].erase(1);
  view.undebited.count = 3;
  check_own_pages(view);
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
  const auto kept = concluded(lost +
                                  "- **Recommendation:** Dispatch by problem: `second@3` on 1, "
                                  "`first@2` on 1 (small); keep the rivals for small.\n",
                              view);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].line == 2);
  CHECK(kept[0].printed == "keep a rival for small");
  CHECK(concluded("- **Recommendation:** run iterations: only the baseline is measured.\n", view)
            .size() == 1);
  CHECK(concluded("Do not try again here without new evidence: `first@2` [e9]: refuted.\n", view)
            .size() == 1);
}

TEST_CASE("variants that a page takes are those of the outcome", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  const std::string lead = "- **Recommendation:** Dispatch by problem: ";
  CHECK(printed_in(lead + "first@2 on 1 (small), second@3 on 1.\n", view).empty());
  CHECK(printed_in(lead + "first@2 on 1 (large), second@3 on 2.\n", view) ==
        Printed{"first@2 on large", "second@3 on 2"});
  CHECK(printed_in("- **Recommendation:** Use `base@1`.\n", view) ==
        Printed{"take base@1", "nothing of first@2", "nothing of second@3"});
  CHECK(printed_in("The facts advise: Keep the start.\n", view) == Printed{"keep the start"});
  CHECK(printed_in("| A: adopt `second@3` | the gain is enough | nothing |\n", view) ==
        Printed{"nothing of first@2"});
  // A list that is cut names the largest parts.
  CHECK(printed_in(lead + "second@3 on 1 and 1 more.\n", view).empty());
}

TEST_CASE("where every rival is faster a page begins with the rivals", "[audit][outcome]") {
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
  const session::SessionView view = story.close().view();
  check_own_pages(view);
  const std::string lead = "- **Recommendation:** ";
  CHECK(
      printed_in(lead + "Use torch_a on all 2 problems. Develop base@1 further.\n", view).empty());
  CHECK(printed_in(lead + "Keep the start base@1: no other was measured; keep torch_a on small.\n",
                   view) == Printed{"use base@1 first"});
}

TEST_CASE("what a page counts is what the outcome counts", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  CHECK(printed_in("- **Result:** 2.1x over the fastest rival on average, ahead on 2 of 2.\n", view)
            .empty());
  CHECK(printed_in("- **Result:** 2.1x over the fastest rival on average, ahead on 1 of 2.\n",
                   view) == Printed{"ahead on 1 of 2"});
  CHECK(printed_in("- **Gain:** none yet: no iteration was run.\n", view) == Printed{"no gain"});
  CHECK(printed_in("2 iterations closed after the baseline: 2 won.\n", view).empty());
  CHECK(printed_in("3 iterations closed after the baseline: 1 won.\n", view) ==
        Printed{"3 iterations", "1 won"});
  CHECK(
      printed_in("- **Outcome:** closed (after 9 iterations); baseline and 2 iterations: 2 wins.\n",
                 view)
          .empty());
  CHECK(printed_in("Technical: 2 of 3 iterations gained.\n", view) == Printed{"3 iterations"});
}

TEST_CASE("a page blames what measurements support", "[audit][outcome]") {
  const session::SessionView view = with_causes(two_wins());
  const std::string none = "- Root cause: none is supported by what this log holds\n";
  CHECK(printed_in(none, view) == Printed{"no cause"});
  CHECK(printed_in(none, two_wins()).empty());
  CHECK(printed_in("- **Cause:** What limits it now: too few blocks. Proof: 2 of 132.\n", view)
            .empty());
  CHECK(printed_in("- **Cause:** What limits it now: narrow loads.\n", view) ==
        Printed{"cause: narrow loads."});
  const std::string on = "- What limits it now on 1 of 2 problems (small): ";
  CHECK(printed_in(on + "too few blocks. Proof: 2 of 132.\n", view).empty());
  CHECK(printed_in(on + "narrow loads.\n", view) == Printed{"cause: narrow loads."});
  CHECK(printed_in("- It is not: narrow loads and 2 more.\n", view).empty());
  CHECK(printed_in("- It is not: narrow loads, too few blocks and 2 more.\n", view) ==
        Printed{"it is not too few blocks"});
}

TEST_CASE("a prediction that came true is not refuted", "[audit][outcome]") {
  const session::SessionView hit = with_prediction(two_wins(), 1.386);
  const std::string row = "|   2 | 1.40x [e50] | 1.386x [e60] | refuted, yet faster | below |\n";
  CHECK(printed_in(row, hit) == Printed{"iteration 2 is refuted"});
  CHECK(printed_in("|   2 | 1.40x | narrow loads | not refuted |\n", hit).empty());
  const session::SessionView lost = with_prediction(two_wins(), 0.9);
  CHECK(printed_in(row, lost).empty());
  // What lost over the suite and is the best on a part of it is not to be left alone.
  const std::string heading =
      "**Mechanism not confirmed (do not try again on these problems without new evidence): "
      "1**\n\n";
  const std::string entry = "- iteration 2 [e50]: wider tiles.\n";
  CHECK(printed_in(heading + entry, lost) == Printed{"do not try second@3"});
  CHECK(printed_in(heading + "\n**Undecided: 1**\n\n" + entry, lost).empty());
  const std::string brief = "Session s, closed\nRefuted:\n- wider tiles: 0.9x [e77]\n";
  CHECK(printed_in(brief, lost) == Printed{"do not try second@3"});
  CHECK(printed_in("Session s, closed\nTried, newest first:\n- 2 win [e77]\n", lost).empty());
}

TEST_CASE("a known loser is not advised", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  const std::string row = "| Try wider tiles (`wide_tiles`) | 1.10x |\n| again `wide_tiles` | |\n";
  CHECK(printed_in("## What is next\n\n" + row, view, {"wide_tiles"}) == Printed{"try wide_tiles"});
  CHECK(printed_in("## What is next\n\n" + row, view, {"wide"}).empty());
  CHECK(printed_in("## What was tried\n\n" + row, view, {"wide_tiles"}).empty());
  CHECK(printed_in("## Roadmap\n\nNot advised:\n\n- `wide_tiles`: it lost here\n", view,
                   {"wide_tiles"})
            .empty());
}

TEST_CASE("a cost names what no debit holds", "[audit][outcome]") {
  session::SessionView view = two_wins();
  view.ledger.debit(session::CostItem::device, 36.39, std::nullopt);
  const std::string spend = "- **Spend:** rate not given (device 36.39 s); wall time 25 min.\n";
  CHECK(printed_in(spend, view).empty());
  CHECK(printed_in("## Cost\n\n| device | 40.1 | s | rate not given |\n", view) ==
        Printed{"40.1 s of the device"});
  CHECK(printed_in("| device | NVIDIA H200, 132 SMs | x |\n", view).empty());
  view.undebited.count = 1350;
  view.undebited.timed_s = 276.9;
  const auto found = concluded(spend, view);
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 1);
  CHECK(found[0].computed == "1350 turns are not debited, 276.9 s of timing alone");
  CHECK(printed_in(spend + "\nNot debited: 1350 turns.\n", view).empty());
}

TEST_CASE("a brief's outcome is read", "[audit][outcome]") {
  const session::SessionView view = two_wins();
  CHECK(printed_in("Session s, closed\nOutcome: Dispatch: first@2 on 1, second@3 on 1; ahead of "
                   "torch_a on 2 of 2.\n",
                   view)
            .empty());
  CHECK(printed_in("Session s, closed\nOutcome: Adopt second@3; ahead of torch_a on 1 of 2.\n",
                   view) == Printed{"nothing of first@2", "ahead on 1 of 2"});
}

TEST_CASE("faults of kept reports as older versions made them are found", "[audit][outcome]") {
  CHECK(found_in("ladder",
                 "- **Recommendation:** use `sm80_mma_flash@b4ef2ed2` in place of the start; keep "
                 "the rivals for it3_B16H8S512, v3_B8H16, v3_B4H16.\n") ==
        Printed{"nothing of sm90_wgmma_carry@e5bd03a3", "keep a rival for v3_B4H16",
                "keep a rival for v3_B8H16", "keep a rival for it3_B16H8S512"});
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
