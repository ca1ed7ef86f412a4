// SPDX-License-Identifier: MIT
// Phases of a session: planned minutes, actual minutes and results.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

std::string section(const std::string& page) {
  const auto at = page.find("## Execution\n");
  REQUIRE(at != std::string::npos);
  return page.substr(at, page.find("\n## ", at + 3) - at);
}

/// Events come a second apart: goes on until so many were logged.
void go_on_to(LogBuilder& log, std::int64_t events) {
  while (log.last() < events) log.add("turn_measured", {{"iteration", nullptr}});
}

void begin_phase(LogBuilder& log, const char* name, const Json& planned) {
  Json note{{"text", "begins"}, {"iteration", nullptr}, {"phase", name}};
  if (!planned.is_null()) note["planned_minutes"] = planned;
  log.add("note", note);
}

/// The opening, planned for 3 minutes, takes 2; the phase after it takes 6.
LogBuilder phased(const Json& planned_second = 4.0) {
  LogBuilder log;
  Json opened = opened_payload();
  opened["planned_minutes"] = 3.0;
  log.add("session_opened", opened);
  record_environment(log);
  run_baseline(log);
  go_on_to(log, 120);
  begin_phase(log, "search", planned_second);
  run_win(log, 1);
  run_no_gain(log, 2);
  log.add("note", {{"text", "the tiles are what helps"}, {"iteration", nullptr}});
  go_on_to(log, 480);
  close_session(log, "finished");
  return log;
}

}  // namespace

TEST_CASE("phases tell minutes planned and taken, pauses left out, and what came of them",
          "[report][execution]") {
  LogBuilder log = phased();
  log.view().away = {{"2026-11-20T18:05:01.000Z", "2026-11-20T18:07:01.000Z"}};
  const std::string page = section(render_handover(log.view()));
  INFO(page);
  const std::string opening = line_with(page, "| opening and baseline [e1]");
  CHECK(tells(opening, " 3.0 | "));
  CHECK(tells(opening, " 2.0 | "));
  const std::string search = line_with(page, "| search [e121]");
  CHECK(tells(search, " 4.0 | "));  // planned; 6 minutes less the 2 away are 4
  CHECK(tells(search, "1 of 2 iterations won, at most 2.65x [2.61, 2.70] [e"));
  CHECK(tells(search, "the tiles are what helps [e"));
  CHECK(tells(line_with(page, "| all "), " 7.0 | "));
  CHECK(tells(page, "min less than planned."));
  CHECK(tells(page, "paused or interrupted is not in it: 2 min"));
  // The report has it too, because a plan was stated.
  CHECK(section(render_session(log.view())) == page);
}

TEST_CASE("what took longer than planned is told", "[report][execution]") {
  const LogBuilder log = phased(1.0);
  const std::string page = section(render_handover(log.view()));
  INFO(page);
  // 3 and 1 planned, 8 taken.
  CHECK(tells(page, "4.0 min more than planned."));
  CHECK_FALSE(tells(page, "paused or interrupted"));
}

TEST_CASE("a plan that was not stated is said to be missing, and is not zero",
          "[report][execution]") {
  const std::string one = section(render_handover(phased(Json()).view()));
  INFO(one);
  CHECK(tells(line_with(one, "| search "), "not stated"));
  CHECK(tells(line_with(one, "| all "), "not stated"));
  CHECK(tells(one, "1 phase without a plan"));
  const std::string none = section(render_handover(whole_session().view()));
  CHECK(tells(line_with(none, "| opening and baseline [e1]"), "not stated"));
  CHECK(tells(line_with(none, "| iterations [e"), "1 of 3 iterations won"));
  CHECK(tells(none, "No plan was stated."));
  CHECK_FALSE(tells(render_session(whole_session().view()), "## Execution"));
}
