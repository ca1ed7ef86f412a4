// SPDX-License-Identifier: MIT
// Figures: none without a measurement, none from turns that a quota or a slow GPU disturbed, none
// from an interval without information; what the log keeps of a GPU's conditions; and whole floats
// wherever an integer is asked for.
#include <algorithm>

#include "core/json.hpp"
#include "engine_world.hpp"
#include "session/session.hpp"
#include "verbs/table.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::verbs;
using testing::Bench;
using testing::FakeSubject;

namespace {

FakeSubject flagged(const std::string& flag) {
  FakeSubject subject = Bench::with_time(50);
  subject.turn_flags = {flag};
  return subject;
}

bool holds(const Json& text, const std::string& words) {
  UNSCOPED_INFO(text.dump());
  return text.get<std::string>().find(words) != std::string::npos;
}

const Json k_small = "B=1 Hq=1 Sq=32 D=16 f32";

Json compare(Bench& bench) {
  return bench.call("compare",
                    {{"candidate", "cpu_tiled"}, {"against", "cpu_unfused"}, {"problem", k_small}});
}

device::CpuLimits limited() {
  device::CpuLimits limits;
  limits.allowed = limits.online = {0, 1};
  limits.quota = device::CpuGroups::Quota{0.3, "/sys/fs/cgroup/job/cpu.max"};
  return limits;
}

Json row_named(const Json& rows, const std::string& name) {
  for (const Json& row : rows) {
    if (row["name"] == name) return row;
  }
  FAIL("no row " << name);
  return {};
}

}  // namespace

TEST_CASE("turns that a quota stopped are never a figure, and the quota is named",
          "[engine][numbers]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = flagged("cpu_throttled");
  const Json measured =
      bench.call("measure", {{"variant", "cpu_tiled"}, {"problem", k_small}})["problems"][0];
  CHECK(measured["outcome"] == "environment");
  CHECK(holds(measured["message"], "CPU quota"));
  for (const char* key : {"median_us", "interval_us", "gflop_per_s"})
    CHECK(measured[key].is_null());
  const Json compared = compare(bench);
  CHECK(compared["outcome"] == "ambiguous");
  CHECK(compared["speedup"].is_null());
  const Json& row = compared["problems"][0];
  CHECK(row["candidate_us"].is_null());
  CHECK(row["against_us"].is_number());
  CHECK(row["invalidity"] == "environment");
  CHECK(holds(row["reason"], "CPU quota"));
}

TEST_CASE("a cpuset that was narrowed is told as that", "[engine][numbers]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = flagged("fewer_cpus");
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["invalidity"] == "environment");
  CHECK(holds(answer["message"], "fewer CPUs"));
  CHECK(holds(answer["message"], "cpuset"));
}

TEST_CASE("a plan of which no turn counts has no figure in open's answer, but a reason",
          "[engine][numbers]") {
  Bench bench;
  FakeSubject& start = bench.worker.subjects["cpu_unfused"] = Bench::with_time(100);
  start.time_us = [&start](const Problem&, PlanKind plan) {
    start.turn_flags.clear();
    if (plan == PlanKind::cold) start.turn_flags = {"foreign_load"};
    return 100.0;
  };
  const Json rows = bench.open()["baseline"];
  int cold = 0;
  for (const Json& row : rows) {
    const bool is_cold = row["plan"] == "cold";
    cold += is_cold ? 1 : 0;
    CHECK(row["start_us"].is_null() == is_cold);
    CHECK(row["message"].get<std::string>().empty() != is_cold);
    if (is_cold) CHECK(holds(row["message"], "other processes"));
  }
  CHECK(cold == 1);
}

TEST_CASE("the sides of an iteration without turns have no figures", "[engine][numbers]") {
  Bench bench;
  bench.open();
  FakeSubject& tiled = bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  bench.worker.subjects["cpu_unfused"] = flagged("cpu_throttled");
  tiled.time_us = [](const Problem&, PlanKind) { return 50.0; };
  const Json answer = bench.iterate();
  REQUIRE(answer["problems"].size() == 1);
  CHECK(answer["problems"][0]["incumbent_us"].is_null());
  CHECK(answer["problems"][0]["candidate_us"].is_number());
  CHECK(answer["outcome"] != "win");
  for (const session::Event& event : bench.events("comparison_made")) {
    if (event.payload["iteration"] == 1 && !event.payload["problem"].is_null()) {
      CHECK(event.payload["against_us"].is_null());
    }
  }
}

TEST_CASE("a quota is a row of doctor with its cure, and a note beside figures",
          "[engine][numbers]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  bench.worker.hello_result.cpu_limits = limited();
  const Json row = row_named(bench.call("doctor", Json::object())["checks"], "cpus");
  CHECK(row["state"] == "warning");
  CHECK(holds(row["detail"], "CPU quota limits it to 0.3 CPUs of 2 (/sys/fs/cgroup/job/cpu.max)"));
  CHECK(holds(row["next"], "--cpus"));
  for (const Json& answer :
       {bench.call("measure", {{"variant", "cpu_tiled"}, {"problem", k_small}}), compare(bench)}) {
    REQUIRE(answer["notes"].size() == 1);
    CHECK(holds(answer["notes"][0], "0.3 CPUs"));
  }
  bench.open();
  const Json recorded = bench.events("environment_recorded")[0].payload["cpu_limits"];
  CHECK(recorded["quota"] == Json{{"cpus", 0.3}});  // without the path
}

TEST_CASE("doctor tells CPUs that may not be used and those that share cores",
          "[engine][numbers]") {
  Bench bench;
  const auto cpus = [&bench](device::CpuLimits limits) {
    bench.worker.hello_result.cpu_limits = std::move(limits);
    bench.restart();
    return row_named(bench.call("doctor", Json::object())["checks"], "cpus");
  };
  device::CpuLimits all;
  all.allowed = all.online = {0, 1, 2, 3};
  CHECK(cpus(all)["state"] == "ok");
  device::CpuLimits large = all;
  large.quota = device::CpuGroups::Quota{4, "f"};
  CHECK(cpus(large)["state"] == "ok");  // takes nothing away
  device::CpuLimits half = all;
  half.allowed = {0, 1};
  CHECK(holds(cpus(half)["detail"], "2 of 4 CPUs (0-1), by a cpuset"));
  half.siblings = {2, 3};
  const Json shared = cpus(half);
  CHECK(shared["state"] == "warning");
  CHECK(holds(shared["detail"], "2-3 share cores"));
  // A worker of before says nothing of it.
  bench.worker.hello_result.cpu_limits.reset();
  bench.restart();
  const Json answer = bench.call("doctor", Json::object());
  for (const Json& row : answer["checks"]) CHECK(row["name"] != "cpus");
}

TEST_CASE("whole floats are integers in configurations, lists of proposals and beyond",
          "[engine][numbers]") {
  const auto check = [](const char* verb, const Json& args) {
    return check_arguments(find_verb(verb)->spec, args);
  };
  Json args{{"variant", "cpu_tiled"}, {"hypothesis", "why"}, {"predicted_speedup", 1.5}};
  args["configuration"] = {{"TILE_M", 64.0 / 2}, {"TILE_N", 16}};
  const auto checked = check("iterate", args);
  REQUIRE(checked.ok());
  CHECK((*checked)["configuration"]["TILE_M"].is_number_integer());
  CHECK((*checked)["configuration"].dump() == R"({"TILE_M":32,"TILE_N":16})");
  CHECK(check("propose_many", {{"proposals", Json::array({{{"configuration", {{"T", 2.0}}}}})}})
            .ok());
  for (const Json& value : {Json(64.0 / 3), Json(1e300), Json("32.0"), Json(true)}) {
    args["configuration"] = {{"TILE_M", value}};
    const auto refused = check("iterate", args);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message().find("not an integer: " + value.dump()) != std::string::npos);
  }
  CHECK_FALSE(check("open", {{"start", "a"}, {"evaluations", 1e300}}).ok());
}

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
