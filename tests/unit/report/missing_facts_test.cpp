// SPDX-License-Identifier: MIT
// Every log gives a page: sessions killed at any point, missing facts, facts of the wrong type. The
// page names what is unknown.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

void check_first_screen(const std::string& page) {
  const auto end = page.find("\n## ");
  REQUIRE(end != std::string::npos);
  // `end` is the line feed of the empty line after the screen.
  CHECK(std::count(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(end), '\n') <= 15);
  for (const char* name : {"- **Outcome:** ", "- **Gain:** ", "- **Lost:** ", "- **Resolution:** ",
                           "- **Spend:** ", "- **Headroom:** ", "- **Recommendation:** "}) {
    CHECK(line_with(page, name).size() > std::string(name).size());
  }
}

}  // namespace

TEST_CASE("a session that has nothing still gives a page", "[report][missing]") {
  const SessionView nothing;
  const std::string page = render_session(nothing);
  check_first_screen(page);
  CHECK(line_with(page, "- **Gain:**").find("baseline has not been measured") != std::string::npos);
  CHECK(render_status(nothing).find("none yet") != std::string::npos);
}

TEST_CASE("a session killed after any event gives a page", "[report][missing]") {
  const LogBuilder whole = whole_session();
  for (std::size_t n = 1; n <= whole.events().size(); ++n) {
    const LogBuilder log = whole.prefix(n);
    INFO("after event " << n << ", " << whole.events()[n - 1].first);
    const std::string page = render_session(log.view());
    check_first_screen(page);
    CHECK_FALSE(render_status(log.view()).empty());
    for (const IterationView& iteration : log.view().iterations) {
      CHECK_FALSE(render_iteration(log.view(), iteration).empty());
      CHECK(iteration_json(log.view(), iteration)["iteration"] == iteration.number);
    }
    // No gain before the incumbent changed.
    if (log.view().iterations.size() < 2 || !log.view().iterations[1].incumbent_changed) {
      CHECK(line_with(page, "- **Gain:**").find("none") != std::string::npos);
    }
  }
}

TEST_CASE("an interrupted iteration is named", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  open_iteration(log, 1, "cpu_tiled@11112222", "theory", 1.3);
  build(log, 1, "cpu_tiled@11112222");
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Outcome:**").find("iteration 1 in flight") != std::string::npos);
  CHECK(page.find("1. Go on with `sdpa-wb resume`") != std::string::npos);
  CHECK(page.find("Lacking: its end: it is in flight") != std::string::npos);
  CHECK(render_status(log.view()).find("iteration 1 in flight: cpu_tiled@11112222") !=
        std::string::npos);
}

TEST_CASE("an abandoned iteration is not a result", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  open_iteration(log, 1, "cpu_tiled@11112222", "theory", 1.3);
  close_iteration(log, 1, "abandoned", "", "the session was interrupted");
  log.add("session_resumed", {{"environment_changed", {"kernel 6.1.0 -> 6.1.1"}}});
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Outcome:**").find("1 abandoned") != std::string::npos);
  CHECK(page.find("Lacking: a measurement: it was abandoned") != std::string::npos);
  CHECK(page.find("changed since: kernel 6.1.0 -&gt; 6.1.1") != std::string::npos);
}

TEST_CASE("a session without iterations says so", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  close_session(log, "finished");
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Gain:**").find("none yet: no iteration was run") != std::string::npos);
  CHECK(line_with(page, "- **Recommendation:**").find("develop the start") != std::string::npos);
  CHECK(page.find("## Hypotheses\n\nNone was stated.") != std::string::npos);
}

TEST_CASE("a session in which everything failed goes on from its start", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  for (int i = 1; i <= 3; ++i) run_compile_failure(log, i);
  close_session(log, "3 compile failures in a row");
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Outcome:**").find("3 invalid") != std::string::npos);
  CHECK(line_with(page, "- **Gain:**").find("none:") != std::string::npos);
  CHECK(line_with(page, "- **Recommendation:**").find("develop the start") != std::string::npos);
  CHECK(page.find("its hypothesis was never measured") != std::string::npos);
}

TEST_CASE("an environment fault is not held against the variant", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  open_iteration(log, 1, "cpu_tiled@11112222", "theory", 1.3);
  decide(log, 1, "undecided", "no valid measurement");
  close_iteration(log, 1, "invalid", "environment", "the canary failed three times");
  const std::string page = render_session(log.view());
  CHECK(page.find("Repeat iteration 1") != std::string::npos);
  CHECK(page.find("Mend `cpu_tiled@11112222`") == std::string::npos);
}

TEST_CASE("without a rival the standing is unknown", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  judge(log, 0, k_start, k_prefill, 0.3);
  turns(log, 0, 6);
  close_iteration(log, 0, "baseline");
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Lost:**") == "- **Lost:** unknown: no rival was measured.");
  CHECK(page.find("Measure a rival that passes its verdict") != std::string::npos);
  CHECK(page.find("its turns: [e4] to [e9]") != std::string::npos);
}

TEST_CASE("a rival that did not build is shown as failed", "[report][missing]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  fail_build(log, 0, "torch_cpu@11223344", "no module named torch");
  judge(log, 0, k_start, k_prefill, 0.3);
  close_iteration(log, 0, "baseline");
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Lost:**").find("failed (no module named torch)") != std::string::npos);
  CHECK(page.find("**failed** to build: no module named torch") != std::string::npos);
}

TEST_CASE("without a noise floor the resolution is unknown", "[report][missing]") {
  LogBuilder log = whole_session();
  log.view().noise_floors.clear();
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Resolution:**").find("noise floor not measured") != std::string::npos);
  CHECK(page.find("- [ ] noise floor measured") != std::string::npos);
}

TEST_CASE("a budget stop names the budget", "[report][missing]") {
  const std::string page = render_session(whole_session().view());
  CHECK(line_with(page, "- **Outcome:**").find("budget: 3 of 3 evaluations") != std::string::npos);
  CHECK(line_with(page, "- **Spend:**").find("budget 3 evaluations, 10 min") != std::string::npos);
}

TEST_CASE("a mended log and missing profiles are said", "[report][missing]") {
  LogBuilder log = whole_session();
  log.add("recovered", {{"cut_bytes", 37}, {"saved_as", "events.torn"}, {"reason", "torn"}});
  const std::string page = render_session(log.view());
  CHECK(page.find("the log lost 37 bytes at its end") != std::string::npos);
  CHECK(page.find("no profile was taken") != std::string::npos);
}

TEST_CASE("what tools said of a call stands on its iteration's page", "[report][missing]") {
  LogBuilder log = whole_session();
  const auto say = [&](const char* tool, bool available, const Json& records) {
    Json payload{{"iteration", 1},
                 {"subject", "a"},
                 {"problem", "p"},
                 {"available", available},
                 {"reason", "it was closed"},
                 {"records", records}};
    if (*tool != 0) payload["tool"] = tool;
    log.add("profile_taken", payload);
  };
  say("", true, Json::array());  // as older logs have it
  say("racecheck", true, {{"clean", false}, {"errors", 2}, {"warnings", 1}});
  say("memcheck", true, {{"clean", true}});
  say("initcheck", false, Json::object());
  const std::string page = render_iteration(log.view(), *log.view().find(1));
  CHECK(page.find("- profile taken") != std::string::npos);
  CHECK(page.find("- racecheck: 2 errors, 1 warnings") != std::string::npos);
  CHECK(page.find("- memcheck: clean") != std::string::npos);
  CHECK(page.find("- no answer of initcheck: it was closed") != std::string::npos);
}

TEST_CASE("payloads of any type give a page", "[report][missing]") {
  const LogBuilder whole = whole_session();
  const std::vector<Json> replacements = {
      nullptr, "text", 7, -1.5, true, 1e300, Json::array({1, "x", nullptr}), Json::object()};
  for (std::size_t r = 0; r < replacements.size(); ++r) {
    LogBuilder log;
    for (const auto& [type, payload] : whole.events()) {
      Json broken = payload;
      for (auto& [key, value] : broken.items()) {
        // What the session module itself needs to fold a log stays.
        const bool kept = key == "iteration" || key == "to" || type == "cost_debited";
        if (!kept) value = replacements[r];
      }
      log.add(type, broken);
    }
    INFO("everything replaced by " << replacements[r].dump());
    check_first_screen(render_session(log.view()));
    for (const IterationView& iteration : log.view().iterations) {
      CHECK_FALSE(render_iteration(log.view(), iteration).empty());
      CHECK_FALSE(iteration_json(log.view(), iteration).empty());
    }
    CHECK_FALSE(render_status(log.view()).empty());
  }
}
