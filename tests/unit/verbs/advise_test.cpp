// SPDX-License-Identifier: MIT
// `advise`: a session's log becomes a situation, and a roadmap is stored when the session closes.
#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using testing::Bench;

namespace {

/// A start without techniques, and a win that brings some.
struct Advised : Bench {
  Advised() {
    worker.subjects["cpu_unfused"] = with_time(200);
    worker.subjects["cpu_tiled"] = with_time(100);
    open();
  }
  Json advise(Json args = Json::object()) { return call("advise", args); }
};

bool is_advised(const Json& roadmap, const std::string& technique) {
  return std::any_of(roadmap["entries"].begin(), roadmap["entries"].end(),
                     [&](const Json& row) { return row["technique"] == technique; });
}

bool says(const Json& roadmap, const std::string& words) {
  INFO(roadmap["text"].get<std::string>());
  const bool found = roadmap["text"].get<std::string>().find(words) != std::string::npos;
  CHECK(found);
  return found;
}

fs::path kept(const std::string& name) {
  return source_dir() / "sessions" / (name + ".tar.gz");
}

}  // namespace

TEST_CASE("advice follows the incumbent and what was tried", "[engine][advise]") {
  Advised bench;
  const Json first = bench.advise();
  CHECK(is_advised(first, "fused_softmax"));
  CHECK(first["incumbent"].get<std::string>().rfind("cpu_unfused@", 0) == 0);
  CHECK(first["calibration"]["count"] == 0);
  CHECK(first["measuring_s"].is_null());
  CHECK(says(first, "No prediction was decided yet"));
  for (const Json& row : first["entries"]) {
    INFO(row.dump());
    CHECK(row["low"].get<double>() <= row["expected"].get<double>());
    CHECK(row["expected"].get<double>() <= row["high"].get<double>());
    CHECK_FALSE(row["source"].get<std::string>().empty());
  }
  REQUIRE(bench.iterate()["outcome"] == "win");
  const Json later = bench.advise();
  CHECK(later["incumbent"].get<std::string>().rfind("cpu_tiled@", 0) == 0);
  CHECK_FALSE(is_advised(later, "fused_softmax"));
  CHECK(later["calibration"]["count"] == 1);
  CHECK(says(later, "All 1 decided prediction: "));
  CHECK(later["measuring_s"].is_number());
  CHECK(later["text"].get<std::string>().find("Not advised") != std::string::npos);
  CHECK(bench.advise({{"target", 2.0}})["target_ratio"] == 2.0);
}

TEST_CASE("the roadmap is kept when the session closes, and told by its report",
          "[engine][advise]") {
  Advised bench;
  REQUIRE(bench.iterate()["outcome"] == "win");
  const Json answer = bench.advise();
  bench.call("close", Json::object());
  const auto made = bench.events("roadmap_made");
  REQUIRE(made.size() == 1);
  const Json& kept = made[0].payload;
  for (const char* key : {"entries", "not_advised", "stages", "calibration", "incumbent"}) {
    CHECK(kept[key] == answer[key]);
  }
  const std::string report =
      *RealFileSystem().read(bench.session / "reports" / "session_full.md", 1 << 20);
  CHECK(report.find("## Roadmap") != std::string::npos);
  CHECK(report.find("[e" + std::to_string(made[0].seq) + "]") != std::string::npos);
}

TEST_CASE("the target is told beside the fastest rival that stands", "[engine][advise]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["torch_cpu_sdpa"] = Bench::with_time(50);
  testing::FakeSubject wrong = Bench::with_time(1);  // the fastest, were it right
  wrong.passes = [](const Problem&) { return false; };
  bench.worker.subjects["cpu_online"] = wrong;
  bench.open({{"rivals", {"torch_cpu_sdpa", "cpu_online"}}});
  const Json roadmap = bench.call("advise", Json::object());
  CHECK(roadmap["rival_ratio"].get<double>() == Approx(0.25).epsilon(0.02));
  CHECK(roadmap["reached_at_stage"] != 0);
  CHECK(bench.call("advise", {{"target", 0.2}})["reached_at_stage"] == 0);
}

TEST_CASE("a bound that another plan showed is measured evidence", "[engine][advise]") {
  Bench bench;
  testing::FakeSubject start;
  start.time_us = [](const Problem&, PlanKind plan) {
    return plan == PlanKind::cold ? 400. : 200.;
  };
  bench.worker.subjects["cpu_unfused"] = start;
  bench.open({{"plan", "cold"}});
  bool is_hot = false;
  for (const auto& event : bench.events("finding_recorded")) {
    if (event.payload["analysis"] != "regime") continue;
    CHECK(event.payload["figures"]["regime"] != "unknown");
    is_hot = is_hot || event.payload["figures"]["plan"] == "hot";
  }
  REQUIRE(is_hot);  // the fastest is said to be bound, and that was not the plan of the objective
  const Json roadmap = bench.call("advise", Json::object());
  REQUIRE_FALSE(roadmap["entries"].empty());
  for (const Json& row : roadmap["entries"]) {
    INFO(row.dump());
    CHECK(row["strength"] == "strong");
    CHECK_FALSE(row["events"].empty());
  }
}

// Faults that were seen in kept sessions
// --------------------------------------------------------------------------------------------

TEST_CASE("pages of logs without a roadmap say what advice says of them", "[engine][advise]") {
  Bench bench;
  const Json page = bench.call("report", Json::object(), kept("n6-baseline"));
  const std::string text = page["text"].get<std::string>();
  INFO(text);
  CHECK(text.find("Try loads of 16 bytes (`vectorized_loads`) by VECTOR_LOADS=1") !=
        std::string::npos);
  CHECK(text.find("compare `sm80_mma_flash`, which has products on tensor cores") !=
        std::string::npos);
}

TEST_CASE("a recorded loser is not proposed but named", "[engine][advise][ideas]") {
  Bench bench;
  const Json roadmap = bench.call("advise", Json::object(), kept("hopper-prefill"));
  INFO(roadmap["text"].get<std::string>());
  CHECK_FALSE(is_advised(roadmap, "fast_exp_polynomial"));
  bool is_named = false;
  for (const Json& row : roadmap["not_advised"]) {
    if (row["technique"] != "fast_exp_polynomial") continue;
    is_named = row["loser"].get<bool>() &&
               row["reason"].get<std::string>().rfind("known loser here: poly_exp", 0) == 0;
  }
  CHECK(is_named);
}

TEST_CASE("what the winning step took out is not proposed again", "[engine][advise]") {
  Bench bench;
  // Its one step keeps all keys of a head, where its start goes over them block by block.
  const Json roadmap = bench.call("advise", Json::object(), kept("h200-few-keys"));
  INFO(roadmap["text"].get<std::string>());
  CHECK_FALSE(is_advised(roadmap, "online_softmax"));
  const Json page = bench.call("report", Json::object(), kept("h200-few-keys"));
  CHECK(page["text"].get<std::string>().find("`online_softmax`") == std::string::npos);
}

TEST_CASE("unrelated tries that failed leave the others their gains", "[engine][advise]") {
  Bench bench;
  const Json roadmap = bench.call("advise", Json::object(), kept("large-head-dims"));
  INFO(roadmap["text"].get<std::string>());
  CHECK(roadmap["calibration"]["share"].get<double>() > 0);
  bool has_gain = false;
  for (const Json& row : roadmap["entries"]) {
    has_gain = has_gain || row["expected"].get<double>() > 1.05;
  }
  CHECK(has_gain);
}

TEST_CASE("where more than 1.3x is left the advice says what to do", "[engine][advise]") {
  Bench bench;
  for (const char* name : {"ladder", "hopper-prefill", "n6-baseline", "large-head-dims"}) {
    const Json roadmap = bench.call("advise", Json::object(), kept(name));
    INFO(name << roadmap["text"].get<std::string>());
    CHECK_FALSE(roadmap["room"].empty());
    for (const Json& row : roadmap["room"]) {
      CHECK(row["room"].get<double>() > 1.3);
      CHECK_FALSE(row["says"].get<std::string>().empty());
    }
    CHECK(roadmap["text"].get<std::string>().find("no technique left") == std::string::npos);
  }
}

TEST_CASE("a backtest asks at each step and hides what came later", "[engine][advise][backtest]") {
  Bench bench;
  const Json made = bench.call("advise", {{"backtest", {kept("hopper-prefill-ends").string()}}});
  INFO(made["text"].get<std::string>());
  REQUIRE(made["steps"].size() == 3);
  CHECK(made["overall"]["steps"] == 3);
  CHECK(made["overall"]["known_losers"]["count"] == 0);
  CHECK(made["goals"].size() == 6);
  for (const Json& step : made["steps"]) {
    // Both cite the session itself.
    for (const Json& name : step["proposals"]) {
      CHECK(name != "threes");
      CHECK(name != "short_heads_whole");
    }
  }
  CHECK(made["steps"][0]["next_win"] == Json::array({"threes"}));
  CHECK(made["steps"][2]["next_win"] == Json::array({"short_heads_whole"}));
  CHECK(made["steps"][2]["measured"].get<double>() == Approx(1.054).epsilon(0.001));
}

TEST_CASE("climbs that began after the register was fixed are summed alone",
          "[engine][advise][backtest]") {
  Bench bench;
  const std::string older = kept("hopper-prefill-ends").string(),
                    younger = kept("h200-few-rows").string();
  const Json made = bench.call("advise", {{"backtest", {older, younger}}});
  const auto day = made["register_day"].get<std::string>();
  INFO(day);
  REQUIRE(day.size() == 10);
  REQUIRE(made["climbs"].size() == 2);
  // By its date, not by its name: the register cites the older climb, so that one is never alone.
  CHECK(made["climbs"][0]["after_register"] == false);
  std::int64_t steps = 0;
  for (const Json& climb : made["climbs"]) {
    const bool is_younger = climb["began"].get<std::string>() > day;
    CHECK(climb["after_register"] == is_younger);
    if (is_younger) steps += climb["steps"].get<std::int64_t>();
  }
  CHECK(made["after_register"]["steps"] == steps);
  CHECK(made["overall"]["steps"].get<std::int64_t>() > steps);
}

TEST_CASE("a backtest wants climbs that can be read", "[engine][advise][backtest]") {
  Bench bench;
  const auto absent = bench.engine->call("advise", {{"backtest", {"no-such-climb"}}});
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == ErrorCode::not_found);
  const auto none = bench.engine->call("advise", {{"backtest", Json::array()}});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::usage);
}

TEST_CASE("a session ends well without a catalogue", "[engine][advise]") {
  Advised bench;
  bench.roots = {bench.folder.path() / "empty"};
  bench.restart();
  const auto refused = bench.engine->call("advise", Json::object(), bench.session);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::not_found);
  CHECK(refused.error().message().find("techniques.json") != std::string::npos);
  const auto closed = bench.engine->call("close", Json::object(), bench.session);
  INFO((closed.ok() ? std::string("ok") : closed.error().message()));
  CHECK(closed.ok());
  CHECK(bench.events("roadmap_made").empty());
  const auto notes = bench.events("note");
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].payload["text"].get<std::string>().rfind("no causes: ", 0) == 0);
  CHECK(notes[1].payload["text"].get<std::string>().rfind("no roadmap: ", 0) == 0);
}
