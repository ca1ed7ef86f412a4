// SPDX-License-Identifier: MIT
// The device that a step of a session measures on if none is named.
#include "engine/worker.hpp"
#include "core/json.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::engine;

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
