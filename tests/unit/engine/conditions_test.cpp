// SPDX-License-Identifier: MIT
// How the engine uses a GPU's conditions: which turns decide, and what the log keeps.
#include <algorithm>

#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using testing::Bench;
using testing::FakeSubject;

TEST_CASE("a GPU that is slowed down in every turn is never a figure", "[engine][session]") {
  Bench bench;
  FakeSubject throttled = Bench::with_time(50);
  throttled.turn_flags = {"throttled"};
  bench.worker.subjects["cpu_tiled"] = throttled;
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["invalidity"] == "environment");
  CHECK(answer["message"].get<std::string>().find("slowed the GPU down") != std::string::npos);
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("a throttled turn is taken again, one beside an idle stranger counts",
          "[engine][session]") {
  Bench bench;
  bench.worker.other = Bench::with_time(100);
  bench.worker.other.turn_flags = {"foreign_process"};
  FakeSubject& subject = bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  subject.time_us = [&subject, n = 0](const Problem&, PlanKind) mutable {
    subject.turn_flags = {++n % 2 == 0 ? "throttled" : "foreign_process"};
    return 50.0;
  };
  bench.open();
  CHECK(bench.iterate()["outcome"] == "win");
  bool said = false;
  for (const Event& event : bench.events("comparison_made")) {
    const Json& flags = event.payload["flags"];
    CHECK(std::count(flags.begin(), flags.end(), "throttled") == 0);
    said = said || std::count(flags.begin(), flags.end(), "foreign_process") > 0;
  }
  CHECK(said);
}

TEST_CASE("what the GPU was doing is in the log of turns, comparisons and findings",
          "[engine][session]") {
  Bench bench;
  bench.worker.hello_result.gpu = GpuSettings{"580.65.06", true, 1'980, 3'201, 700, {}};
  const auto at = [](double us, double mhz) {
    FakeSubject subject = Bench::with_time(us);
    subject.conditions.emplace();
    subject.conditions->readings = 3;
    subject.conditions->sm_clock_mhz = ReadingRange{mhz, mhz, mhz};
    return subject;
  };
  bench.worker.other = at(100, 1'980);
  bench.worker.subjects["cpu_tiled"] = at(50, 1'800);
  bench.open();
  CHECK(bench.iterate()["outcome"] == "win");
  CHECK(bench.events("environment_recorded")[0].payload["gpu"]["power_limit_w"] == 700.0);
  for (const Event& turn : bench.events("turn_measured")) {
    CHECK(turn.payload["conditions"]["readings"] == 3);
  }
  int compared = 0;
  for (const Event& event : bench.events("comparison_made")) {
    if (event.payload["problem"].is_null()) continue;
    const Json& conditions = event.payload["conditions"];
    CHECK(conditions["candidate"]["sm_clock_mhz"]["mean"] == 1'800.0);
    CHECK(conditions["against"]["sm_clock_mhz"]["mean"] == 1'980.0);
    ++compared;
  }
  CHECK(compared > 0);
  int told = 0;
  for (const Event& event : bench.events("finding_recorded")) {
    told += event.payload["analysis"] == "clocks" ? 1 : 0;
  }
  CHECK(told > 0);
}
