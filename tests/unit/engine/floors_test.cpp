// SPDX-License-Identifier: MIT
// Noise floors that were taken while a machine was busy: reported when the session opens, taken
// again by a verb and before an iteration compares, and kept apart by the log.
#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

/// Its processes of one code lie far apart until it calms down.
struct Machine : Bench {
  Machine() {
    worker.subjects["cpu_unfused"] = with_time(190);
    worker.subjects["cpu_tiled"] = with_time(100);
    be_busy(true);
  }
  void be_busy(bool busy) {
    worker.subjects["cpu_unfused"].between_instances_frac = busy ? 0.3 : 0.002;
  }
  std::vector<Event> floors(std::string_view plan = "hot") const {
    std::vector<Event> found;
    for (Event& event : events("noise_floor_measured")) {
      if (event.payload["plan"] == plan) found.push_back(std::move(event));
    }
    return found;
  }
};

}  // namespace

TEST_CASE("a session says at its opening what it cannot show", "[engine][floors]") {
  Machine machine;
  const Json opened = machine.open();
  REQUIRE(opened["cannot_show"].size() == 1);
  const Json& row = opened["cannot_show"][0];
  CHECK(row["cannot_show_frac"].get<double>() > 0.1);
  CHECK_FALSE(row["unfit"].get<std::string>().empty());
  CHECK(opened["cannot_show_text"].get<std::string>().find("cannot serve") != std::string::npos);
  CHECK(machine.floors().back().payload["unfit"] == row["unfit"]);
  CHECK(machine.call("brief", Json::object(), machine.session)["objective"]["cannot_show_frac"]
            .get<double>() > 0.1);

  Machine calm;
  calm.be_busy(false);
  const Json quiet = calm.open();
  CHECK(quiet["cannot_show"][0]["unfit"] == "");
  CHECK(quiet["cannot_show"][0]["cannot_show_frac"].get<double>() < 0.05);
}

TEST_CASE("remeasure_floor replaces a floor that cannot serve", "[engine][floors]") {
  Machine machine;
  machine.open();
  machine.be_busy(false);
  const Json answer = machine.call("remeasure_floor", Json::object(), machine.session);
  CHECK(answer["fit"] == true);
  REQUIRE(answer["floors"].size() == 1);
  CHECK(answer["floors"][0]["used"] == true);
  const auto floors = machine.floors();
  REQUIRE(floors.size() == 2);
  CHECK(floors[1].payload["unfit"] == "");
  CHECK(floors[1].payload["floor_frac"].get<double>() <
        floors[0].payload["floor_frac"].get<double>());
  // A process that goes on later holds comparisons to the new one, and measures none again.
  machine.restart();
  CHECK(machine.iterate()["outcome"] == "win");
  CHECK(machine.floors().size() == 2);
  CHECK(machine.events("comparison_made").back().payload["noise_floor_frac"].get<double>() ==
        Approx(floors[1].payload["floor_frac"].get<double>()));
}

TEST_CASE("a good floor does not give way to one of a busy machine", "[engine][floors]") {
  Machine machine;
  machine.be_busy(false);
  machine.open();
  const double before = machine.floors()[0].payload["floor_frac"];
  machine.be_busy(true);
  const Json answer = machine.call("remeasure_floor", {{"all_plans", true}}, machine.session);
  CHECK(answer["fit"] == false);
  REQUIRE(answer["floors"].size() == 3);
  CHECK(answer["floors"][0]["used"] == false);
  CHECK(machine.floors()[1].payload["used"] == false);
  machine.be_busy(false);
  machine.restart();
  machine.iterate();
  for (const Event& made : machine.events("comparison_made")) {
    if (made.payload["phase"] != "confirmation" || made.payload["plan"] != "hot") continue;
    CHECK(made.payload["noise_floor_frac"].get<double>() == Approx(before));
  }
}

TEST_CASE("an iteration renews a floor that cannot serve, twice at most", "[engine][floors]") {
  Machine machine;
  machine.open();
  machine.be_busy(false);
  CHECK(machine.iterate()["outcome"] == "win");
  CHECK(machine.floors().size() == 2);
  CHECK(machine.floors()[1].payload["unfit"] == "");

  Machine busy;
  busy.open();
  busy.worker.subjects["cpu_tiled"] = Bench::with_time(250);
  for (int i = 0; i < 4; ++i) busy.iterate();
  CHECK(busy.floors().size() == 3);
}

TEST_CASE("a floor of turns that other work disturbed cannot serve", "[engine][floors]") {
  Machine machine;
  machine.be_busy(false);
  machine.open();
  machine.worker.subjects["cpu_unfused"].turn_flags = {"foreign_load"};
  const Json answer = machine.call("remeasure_floor", Json::object(), machine.session);
  CHECK(answer["fit"] == false);
  CHECK(answer["floors"].empty());
  CHECK(answer["text"].get<std::string>().find("disturbed") != std::string::npos);
}

TEST_CASE("remeasure_floor refuses a problem that is not the suite's", "[engine][floors]") {
  Machine machine;
  machine.be_busy(false);
  machine.open();
  const auto answer =
      machine.engine->call("remeasure_floor", {{"problem", "no such"}}, machine.session);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::not_found);
}
