// SPDX-License-Identifier: MIT
// check, measure and compare inside a session: between iterations, in the log, and nothing broken.
#include "core/json.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using testing::Bench;

TEST_CASE("check, measure and compare leave a log that can be read", "[engine][standalone]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  const std::string incumbent = bench.open()["incumbent"];
  CHECK(bench.call("check", {{"variant", "cpu_tiled"}}, bench.session)["pass"] == true);
  CHECK(bench.call("measure", {{"variant", incumbent}}, bench.session)["problems"].size() == 1);
  const Json compared =
      bench.call("compare", {{"candidate", "cpu_tiled"}, {"against", incumbent}}, bench.session);
  CHECK(compared["speedup"].get<double>() == Approx(2.0).epsilon(0.05));
  CHECK(bench.iterate()["outcome"] == "win");
  bench.call("measure", {{"variant", "cpu_tiled"}}, bench.session);

  const SessionView view = *bench.engine->session()->view(FoldDepth::full);
  CHECK(view.outside.built.size() == 5);
  CHECK(view.outside.verdicts.size() >= 4);
  CHECK_FALSE(view.outside.turns.empty());
  REQUIRE(view.outside.comparisons.size() == 1);
  CHECK(view.outside.comparisons[0].payload["phase"] == "standalone");
  CHECK(view.outside.comparisons[0].payload["speedup"] == compared["problems"][0]["speedup"]);
  CHECK(view.iterations.size() == 2);
  CHECK(view.iterations[1].built.size() == 1);
  bench.call("close", {{"reason", "test"}}, bench.session);
  // Another process reads it, and the report counts what it cost.
  bench.restart();
  CHECK(bench.call("status", Json::object(), bench.session)["iterations"] == 1);
  CHECK(bench.call("report", Json::object(), bench.session)["text"].get<std::string>().size() >
        500);
}

TEST_CASE("of several others the fastest counts, problem by problem", "[engine][standalone]") {
  Bench bench;
  const std::string small = "B=1 Hq=1 Sq=32 D=16 f32", large = "B=1 Hq=2 Sq=64 D=16 f32";
  const auto timed = [](double small_us, double large_us) {
    wb::testing::FakeSubject subject = Bench::with_time(1);
    subject.time_us = [=](const Problem& problem, PlanKind) {
      return problem.Sq == 32 ? small_us : large_us;
    };
    return subject;
  };
  bench.worker.subjects["cpu_tiled"] = timed(100, 100);
  bench.worker.subjects["cpu_unfused"] = timed(400, 150);
  bench.worker.subjects["cpu_online"] = timed(200, 300);
  const Json answer = bench.call("compare",
                                 {{"candidate", "cpu_tiled"},
                                  {"against", "cpu_unfused"},
                                  {"others", {"cpu_online"}},
                                  {"problem", small + "; " + large}},
                                 {});
  REQUIRE(answer["problems"].size() == 4);
  std::vector<std::string> fastest;
  for (const Json& row : answer["problems"]) {
    if (row["fastest"] == true) fastest.push_back(row["against"].get<std::string>().substr(0, 7));
  }
  CHECK(fastest == std::vector<std::string>{"cpu_onl", "cpu_unf"});
  // 2 and 1.5, not 4 and 3.
  CHECK(answer["speedup"].get<double>() == Approx(std::sqrt(3.0)).epsilon(0.05));
  CHECK(answer["outcome"] == "faster");
}

TEST_CASE("who does not take a problem is left out there", "[engine][standalone]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_unfused"].takes = [](const Problem& p) { return p.Sq == 64; };
  bench.worker.subjects["cpu_online"] = Bench::with_time(300);
  bench.worker.subjects["cpu_simd_flash"] = Bench::with_time(50);
  bench.worker.subjects["cpu_simd_flash"].takes = [](const Problem&) { return false; };
  const Json answer = bench.call("compare",
                                 {{"candidate", "cpu_tiled"},
                                  {"against", "cpu_unfused"},
                                  {"others", {"cpu_online", "cpu_simd_flash"}},
                                  {"problem", "B=1 Hq=1 Sq=32 D=16 f32; B=1 Hq=2 Sq=64 D=16 f32"}},
                                 {});
  std::vector<std::string> fastest;
  for (const Json& row : answer["problems"]) {
    CHECK(row["against"].get<std::string>().rfind("cpu_simd_flash", 0) != 0);
    if (row["fastest"] == true) fastest.push_back(row["against"].get<std::string>().substr(0, 7));
  }
  CHECK(fastest == std::vector<std::string>{"cpu_onl", "cpu_unf"});
  CHECK(answer["speedup"].get<double>() == Approx(std::sqrt(6.0)).epsilon(0.05));
}

TEST_CASE("a sustained session has long hot turns, and only those", "[engine][standalone]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.open({{"regime", "sustained"}});
  bench.iterate();
  std::int64_t sustained = 0, others = 0;
  bool is_warm = false;  // the device, from the turn before
  for (const auto& request : bench.worker.requests) {
    if (request.verb != protocol::Verb::turn) continue;
    const Json& plan = request.args["plan"];
    const bool is_hot = plan["kind"] == "hot";
    CHECK(plan["regime"] == (is_hot ? "sustained" : "burst"));
    const double settle_us = plan["settle_us"].get<double>();
    if (is_hot) CHECK(settle_us == (is_warm ? 2e5 : 2e6));
    if (!is_hot) CHECK(settle_us < 5e5);
    is_warm = is_hot;
    CHECK((plan["timed_us"].get<double>() >= 2e5) == is_hot);
    ++(is_hot ? sustained : others);
  }
  CHECK(sustained > 0);
  CHECK(others > 0);
  const SessionView view = *bench.engine->session()->view(FoldDepth::full);
  CHECK(view.opened.payload["objective"]["regime"] == "sustained");
  bench.call("close", {{"reason", "test"}}, bench.session);
  const Json report = bench.call("report", Json::object(), bench.session);
  CHECK(report["text"].get<std::string>().find("hot sustained") != std::string::npos);
}

TEST_CASE("a comparison is logged in the regime it was asked for", "[engine][standalone]") {
  Bench bench;
  bench.open();
  const Json asked{{"candidate", "cpu_tiled"}, {"against", "cpu_unfused"}, {"regime", "sustained"}};
  bench.call("compare", asked, bench.session);
  std::size_t standalone = 0;
  for (const Event& event : bench.events("comparison_made")) {
    if (event.payload["phase"] != "standalone") continue;
    CHECK(event.payload["regime"] == "sustained");
    ++standalone;
  }
  CHECK(standalone > 0);
}

TEST_CASE("only the plan hot has regimes", "[engine][standalone]") {
  Bench bench;
  const auto refused = bench.engine->call("measure",
                                          {{"variant", "cpu_tiled"},
                                           {"problem", "B=1 Hq=1 Sq=32 D=16 f32"},
                                           {"plan", "cold"},
                                           {"regime", "sustained"}},
                                          {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().message().find("--plan hot") != std::string::npos);
}

TEST_CASE("a bare name means its best confirmed variant once an iteration tried it",
          "[engine][standalone]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.open();
  const auto compared = [&](const Json& more) {
    Json asked{{"candidate", "cpu_tiled"}, {"against", "cpu_unfused"}};
    asked.update(more);
    bench.call("compare", asked, bench.session);
    return bench.events("comparison_made").back().payload["candidate"].get<std::string>();
  };
  const std::string by_default = compared(Json::object());
  REQUIRE(bench.iterate({{"configuration", {{"TILE_M", 64}}}})["outcome"] == "win");
  const std::string winner = bench.engine->session()->view(FoldDepth::full)->incumbent;
  CHECK(winner != by_default);
  CHECK(compared(Json::object()) == winner);
  const Json measured = bench.call("measure", {{"variant", "cpu_tiled"}}, bench.session);
  CHECK(measured["problems"].size() == 1);
  CHECK(bench.events("turn_measured").back().payload["subject"] == winner);
  // The caller's own configuration is taken as it is.
  CHECK(compared({{"configuration", {{"TILE_M", 16}}}}) != winner);
}

TEST_CASE("sources that no iteration tried are meant as they are on disk", "[engine][standalone]") {
  Bench bench;
  const fs::path own = bench.folder.path() / "own";
  fs::create_directories(own / "kernels");
  fs::copy(source_dir() / "kernels" / "cpu_tiled", own / "kernels" / "cpu_tiled");
  bench.roots.insert(bench.roots.begin(), own);
  bench.restart();
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.open();
  REQUIRE(bench.iterate()["outcome"] == "win");
  const std::string winner = bench.engine->session()->view(FoldDepth::full)->incumbent;
  const fs::path source = own / "kernels" / "cpu_tiled" / "kernel.cpp";
  const std::string text = bench.file_system.read(source, 1u << 26).value();
  REQUIRE(bench.file_system.write_atomic(source, text + "\n// edited\n", Durability::none).ok());
  bench.call("compare", {{"candidate", "cpu_tiled"}, {"against", "cpu_unfused"}}, bench.session);
  CHECK(bench.events("comparison_made").back().payload["candidate"] != winner);
}
