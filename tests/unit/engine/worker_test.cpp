// SPDX-License-Identifier: MIT
// The worker of a session: the device that a step measures on if none is named, the environment
// that is recorded and compared, and workers that die or cannot be had.
#include "engine/worker.hpp"
#include "core/json.hpp"
#include "engine_world.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::engine;
using testing::Bench;

TEST_CASE("a step is measured on the CPUs and with the threads of its session",
          "[engine][environment]") {
  const Json recorded{{"device", {{"id", "cpu:Some CPU: with a colon:2-3"}}},
                      {"worker", {{"threads", 2}}}};
  const std::vector<int> allowed{0, 1, 2, 3};
  const protocol::HelloArgs taken = as_recorded({}, recorded, allowed);
  CHECK(taken.cpu_set == "2-3");
  CHECK(taken.threads == 2);
  protocol::HelloArgs asked;
  asked.threads = 1;
  CHECK(as_recorded(asked, recorded, allowed).cpu_set == "2-3");
  CHECK(as_recorded(asked, recorded, allowed).threads == 1);
  // Who names CPUs means them, and the threads that belong to them.
  asked = {};
  asked.cpu_set = "0-3";
  CHECK(as_recorded(asked, recorded, allowed).cpu_set == "0-3");
  CHECK(as_recorded(asked, recorded, allowed).threads == 0);
}

TEST_CASE("a GPU that is set otherwise is another environment, an older log is not",
          "[engine][environment]") {
  const Json before{{"gpu",
                     {{"driver_version", "580.65.06"},
                      {"power_limit_w", 700.0},
                      {"persistence_mode", true},
                      {"max_sm_clock_mhz", 1980.0}}}};
  Json after = before;
  after["gpu"]["power_limit_w"] = 500.0;
  after["gpu"]["persistence_mode"] = false;
  const auto changes =
      changes_between(circumstances_of_environment(before), circumstances_of_environment(after));
  REQUIRE(changes.size() == 2);
  CHECK(to_lines(changes) ==
        "- persistence mode: true -> false\n- power limit (W): 700.0 -> 500.0\n");
  CHECK(changes_between(circumstances_of_environment(Json::object()),
                        circumstances_of_environment(before))
            .empty());
}

TEST_CASE("CPUs that are gone, and devices that have none, leave the worker's choice",
          "[engine][environment]") {
  const Json recorded{{"device", {{"id", "cpu:Some CPU:2-3"}}}, {"worker", {{"threads", 2}}}};
  CHECK(as_recorded({}, recorded, {0, 1, 2}).cpu_set.empty());
  CHECK(as_recorded({}, recorded, {0, 1, 2}).threads == 0);
  for (const char* id : {"GPU-4f1c", "cpu:Some CPU:", "cpu:Some CPU:?", ""}) {
    INFO(id);
    const Json other{{"device", {{"id", id}}}, {"worker", {{"threads", 2}}}};
    CHECK(as_recorded({}, other, {0, 1, 2, 3}).cpu_set.empty());
    CHECK(as_recorded({}, other, {0, 1, 2, 3}).threads == 0);
  }
  CHECK(as_recorded({}, Json(), {0}).cpu_set.empty());
}

TEST_CASE("a dead worker is the machine's fault and the next iteration gets a new one",
          "[engine][session]") {
  Bench bench;
  bench.open();
  bench.worker.dies_at_request = static_cast<std::int64_t>(bench.worker.requests.size()) + 3;
  const Json answer = bench.iterate();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "environment");
  CHECK(answer["decision"] == "undecided");
  bench.worker.dies_at_request = 0;
  const int started = bench.workers_started;
  CHECK(bench.iterate()["outcome"] != "invalid");
  CHECK(bench.workers_started == started + 1);
}

TEST_CASE("a session can be closed where its device is gone", "[engine][session]") {
  Bench bench;
  bench.play_gpu();
  bench.call("open",
             {{"start", "triton_flash"},
              {"problem", "B=1 Hq=4 Sq=64 D=64 f16"},
              {"rivals", {"none"}},
              {"effort", "quick"}},
             bench.session);
  bench.restart();
  bench.worker.verb_failures[protocol::Verb::hello] =
      Failure{Invalidity::environment, "no such device here", ""};
  const Json proposal{{"variant", "torch_flash"}, {"hypothesis", "x"}, {"predicted_speedup", 2.0}};
  CHECK_FALSE(bench.engine->call("iterate", proposal, bench.session).ok());
  bench.restart();
  bench.call("note", {{"text", "the node was given back"}}, bench.session);
  bench.call("close", {{"reason", "the node was given back"}}, bench.session);
  CHECK(bench.call("status", Json::object(), bench.session)["status"] == "closed");
}

TEST_CASE("a resume under another compiler says so and goes on", "[engine][session]") {
  Bench bench;
  bench.open();
  bench.restart();
  bench.toolchain->version = "fake-cc 2.0";
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  const auto resumed = bench.events("session_resumed");
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].payload["environment_changed"] ==
        Json::array({"compiler: fake-cc 1.0 -> fake-cc 2.0"}));
  CHECK(bench.iterate({{"confirm", "never"}})["iteration"] == 1);
}

TEST_CASE("a session is not gone on with on another device", "[engine][session]") {
  Bench bench;
  bench.open();
  bench.restart();
  bench.worker.hello_result.device.name = "Other CPU";
  const auto before = Bench::snapshot(bench.session);
  const auto resumed = bench.engine->resume_session(bench.session);
  REQUIRE_FALSE(resumed.ok());
  CHECK(resumed.error().code == ErrorCode::environment);
  CHECK(resumed.error().message().find("measured on Fake CPU, and this is Other CPU") !=
        std::string::npos);
  CHECK(bench.engine->pause("an error").ok());
  CHECK(Bench::snapshot(bench.session) == before);
  const auto iterated = bench.engine->call(
      "iterate", {{"variant", "cpu_tiled"}, {"hypothesis", "a reason"}, {"predicted_speedup", 1.5}},
      bench.session);
  REQUIRE_FALSE(iterated.ok());
  CHECK(iterated.error().code == ErrorCode::environment);
}

TEST_CASE("a session gets a worker on its own device, whatever ran before", "[engine][session]") {
  Bench bench;
  bench.call("measure", {{"variant", "cpu_tiled"}, {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}}, {});
  bench.play_gpu();
  bench.open({{"start", "torch_flash"}, {"problem", "B=1 Hq=1 Sq=32 D=64 f16"}});
  std::vector<Json> greetings;
  for (const auto& request : bench.worker.requests) {
    if (request.verb == protocol::Verb::hello) greetings.push_back(request.args);
  }
  REQUIRE(greetings.size() == 2);
  CHECK(greetings.front()["gpu"] == -1);
  CHECK(greetings.back()["gpu"] == 0);
}
