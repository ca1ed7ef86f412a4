// SPDX-License-Identifier: MIT
// A gain has to hold on fresh inputs: the effect on comparisons, iterations and their log if first
// calls do not confirm it.
#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

/// cpu_tiled takes 100 us beside the start's 190, by its timed calls.
struct Race : Bench {
  Race() {
    worker.subjects["cpu_unfused"] = with_time(190);
    worker.subjects["cpu_tiled"] = with_time(100);
  }
  FakeSubject& candidate() { return worker.subjects["cpu_tiled"]; }

  Json last_fresh() const {
    Json fresh;
    for (const Event& event : events("comparison_made")) {
      if (event.payload["phase"] != "confirmation" || event.payload["plan"] != "hot") continue;
      if (event.payload["problem"].is_null()) continue;
      fresh = event.payload.value("fresh", Json());
    }
    return fresh;
  }
};

}  // namespace

TEST_CASE("a gain that first calls bear out is a win", "[engine][fresh]") {
  Race race;
  race.open();
  const Json answer = race.iterate();
  CHECK(answer["outcome"] == "win");
  const Json fresh = race.last_fresh();
  CHECK(fresh["state"] == "stands");
  CHECK(fresh["speedup"].get<double>() == Approx(1.9).epsilon(0.05));
  CHECK(fresh["rounds"].get<std::int64_t>() >= 6);
  const auto calls = race.events("first_calls_measured");
  REQUIRE(calls.size() == 5);  // one an instance, in the confirmation's own processes
  CHECK(calls[0].payload["phase"] == "confirmation");
  CHECK(calls[0].payload["sides"].size() == 2);
  CHECK(calls[0].payload["sides"][0]["subject"].get<std::string>().starts_with("cpu_tiled@"));
  CHECK(calls[0].payload["sides"][0]["fresh_us"].size() ==
        calls[0].payload["sides"][1]["fresh_us"].size());
}

TEST_CASE("who is not ahead has no first calls to take", "[engine][fresh]") {
  Race race;
  race.candidate() = Bench::with_time(250);
  race.open();
  CHECK(race.iterate({{"confirm", "always"}})["outcome"] == "no_gain");
  CHECK(race.worker.count(protocol::Verb::first_calls) == 0);
}

TEST_CASE("who remembers results is runtime, by first calls", "[engine][fresh]") {
  Race race;
  race.candidate().leaves_out_us = 90;
  race.open();
  const Json answer = race.iterate();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "runtime");
  CHECK(answer["message"].get<std::string>().find("fresh inputs") != std::string::npos);
  CHECK(race.events("incumbent_changed").size() == 1);  // the baseline's
}

TEST_CASE("who does all the work of any first call is not faster", "[engine][fresh]") {
  Race race;
  race.candidate().leaves_out_us = 90;
  race.candidate().remembers = false;
  race.open();
  const Json answer = race.iterate();
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["message"].get<std::string>().find("not there on fresh inputs") !=
        std::string::npos);
  const Json fresh = race.last_fresh();
  CHECK(fresh["state"] == "absent");
  CHECK(fresh["speedup"].get<double>() == Approx(1.0).epsilon(0.05));
  CHECK(race.events("incumbent_changed").size() == 1);
}

TEST_CASE("nobody is accused while others use the machine, and nothing is won", "[engine][fresh]") {
  Race race;
  race.candidate().leaves_out_us = 90;
  race.worker.first_call_flags = {"foreign_load"};
  race.open();
  CHECK(race.iterate()["outcome"] == "no_gain");
}

TEST_CASE("without first calls nothing is called faster", "[engine][fresh]") {
  Race race;
  race.worker.verb_failures[protocol::Verb::first_calls] =
      Failure{Invalidity::environment, "the device is gone", ""};
  race.open();
  const Json answer = race.iterate();
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["message"].get<std::string>().find("too few first calls") != std::string::npos);
}

TEST_CASE("who crashes at a first call has failed", "[engine][fresh]") {
  Race race;
  race.candidate().first_call_failure = Failure{Invalidity::runtime, "it died", ""};
  race.open();
  const Json answer = race.iterate();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["message"] == "it died");
}

TEST_CASE("a suite is not won by a gain that is not there on fresh inputs", "[engine][fresh]") {
  Race race;
  race.candidate().leaves_out_us = 90;
  race.candidate().remembers = false;
  race.open({{"problem", "B=1 Hq=1 Sq=32 D=16 f32; B=1 Hq=1 Sq=64 D=16 f32"}});
  const Json answer = race.iterate();
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["interval"]["low"].get<double>() < 1.05);
}

TEST_CASE("compare tells what fresh inputs say", "[engine][fresh]") {
  Race race;
  const Json args{{"candidate", "cpu_tiled"},
                  {"against", "cpu_unfused"},
                  {"effort", "quick"},
                  {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}};
  const Json honest = race.call("compare", args);
  CHECK(honest["outcome"] == "faster");
  CHECK(honest["problems"][0]["fresh"]["state"] == "stands");
  race.candidate().leaves_out_us = 90;
  const Json memo = race.call("compare", args);
  CHECK(memo["outcome"] == "ambiguous");
  CHECK(memo["problems"][0]["reason"].get<std::string>().find("leave out work") !=
        std::string::npos);
  race.candidate().remembers = false;
  const Json late = race.call("compare", args);
  CHECK(late["outcome"] == "ambiguous");
  CHECK(late["problems"][0]["fresh"]["state"] == "absent");
}
