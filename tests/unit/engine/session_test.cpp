// SPDX-License-Identifier: MIT
// Whole sessions against a fake worker: the winner, the timed subjects, and the events in the log.
#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using testing::Bench;
using testing::FakeSubject;
using testing::subject_name;

TEST_CASE("a faster variant wins after confirmation and becomes the incumbent",
          "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["outcome"] == "win");
  CHECK(answer["speedup"].get<double>() == Approx(2.0).epsilon(0.02));
  CHECK(answer["decision"] == "supported");
  CHECK(answer["incumbent"].get<std::string>().rfind("cpu_tiled@", 0) == 0);
  // The figure comes from the confirmation, whose processes are not those of the selection.
  const auto changes = bench.events("incumbent_changed");
  REQUIRE(changes.size() == 2);
  CHECK(changes.back().payload["to"] == answer["incumbent"]);
  bool confirmation = false;
  for (const Event& event : bench.events("comparison_made")) {
    confirmation = confirmation || event.payload["phase"] == "confirmation";
  }
  CHECK(confirmation);
  CHECK(bench.events("iteration_committed").size() == 2);
  // Hot, cold and eager stand side by side in the confirmation.
  std::set<std::string> plans;
  for (const Event& event : bench.events("turn_measured")) {
    if (event.payload["phase"] == "confirmation") plans.insert(event.payload["plan"]);
  }
  CHECK(plans == std::set<std::string>{"hot", "cold", "eager"});
}

TEST_CASE("launches are logged once for each subject and problem", "[engine][session]") {
  Bench bench;
  for (const auto& [name, us] : {std::pair("cpu_unfused", 200.0), std::pair("cpu_tiled", 100.0)}) {
    FakeSubject subject = Bench::with_time(us);
    subject.launches = {{.kernel = name, .grid = {4, 1, 1}, .block = {128, 1, 1}}};
    bench.worker.subjects[name] = subject;
  }
  bench.open();
  REQUIRE(bench.iterate()["outcome"] == "win");
  auto logged = bench.events("launches_recorded");
  REQUIRE(logged.size() == 2);
  const std::string start = bench.events("turn_measured").front().payload["subject"];
  CHECK(logged[0].payload["subject"] == start);
  CHECK(logged[0].payload["iteration"] == 0);
  CHECK(logged[0].payload["problem"] == bench.events("turn_measured").front().payload["problem"]);
  CHECK(logged[1].payload["iteration"] == 1);
  CHECK(logged[1].payload["launches"][0]["kernel"] == "cpu_tiled");
  CHECK(logged[1].payload["launches"][0]["grid"] == Json::array({4, 1, 1}));
  // What the log has is known to the next process too.
  bench.restart();
  bench.call("compare", {{"candidate", "cpu_tiled"}, {"against", "cpu_unfused"}}, bench.session);
  CHECK(bench.events("launches_recorded").size() == 2);
}

TEST_CASE("a step on the way is confirmed under the deciding plan alone", "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  bench.open();
  const Json answer = bench.iterate({{"plans", "deciding"}});
  CHECK(answer["outcome"] == "win");
  CHECK(answer["incumbent"].get<std::string>().rfind("cpu_tiled@", 0) == 0);
  std::set<std::string> plans;
  for (const Event& event : bench.events("turn_measured")) {
    if (event.payload["phase"] == "confirmation") plans.insert(event.payload["plan"]);
  }
  CHECK(plans == std::set<std::string>{"hot"});
}

TEST_CASE("the same speed is no gain and refutes the hypothesis", "[engine][session]") {
  Bench bench;
  bench.open();
  const Json answer = bench.iterate({{"confirm", "always"}});
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["decision"] != "supported");
  CHECK(answer["incumbent"].get<std::string>().rfind("cpu_unfused@", 0) == 0);
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("luck in the selection does not survive confirmation", "[engine][session]") {
  Bench bench;
  int turns = 0;
  FakeSubject lucky = Bench::with_time(100);
  // Fast in the two turns of its selection, as slow as the incumbent afterwards.
  lucky.time_us = [&turns](const Problem&, PlanKind) { return ++turns <= 2 ? 50.0 : 100.0; };
  bench.worker.subjects["cpu_tiled"] = lucky;
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["message"].get<std::string>().find("not confirmed") != std::string::npos);
  CHECK(answer["speedup"].get<double>() == Approx(1.0).epsilon(0.02));
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("a wrong variant is never timed", "[engine][session]") {
  Bench bench;
  FakeSubject wrong;
  wrong.passes = [](const Problem& problem) { return problem.Sq % 8 == 0; };  // some drawn ones
  bench.worker.subjects["cpu_tiled"] = wrong;
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "correctness");
  CHECK(answer["speedup"].is_null());
  for (const Event& turn : bench.events("turn_measured")) {
    CHECK(subject_name(turn) == "cpu_unfused");
  }
}

TEST_CASE("a timed output that is wrong makes the variant invalid", "[engine][session]") {
  Bench bench;
  FakeSubject cheat = Bench::with_time(10);
  cheat.spot_passes = false;
  bench.worker.subjects["cpu_tiled"] = cheat;
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["invalidity"] == "correctness");
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("faster than the roofline is refused", "[engine][session]") {
  Bench bench;
  Device& device = bench.worker.hello_result.device;
  device.f32_flops_per_s = DeviceFact{1e9, "made up for a test"};
  device.f16_flops_per_s = device.bf16_flops_per_s = device.f32_flops_per_s;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(1000);
  // 4 * 32 * 32 * 16 = 65,536 FLOPs need 65 us at 1 GFLOP/s.
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(5);
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["message"].get<std::string>().find("refused") != std::string::npos);
}

TEST_CASE("a compile failure keeps its words and costs one iteration", "[engine][session]") {
  Bench bench;
  bench.open();
  const Json answer =
      bench.iterate({{"parent", "cpu_unfused"}, {"files", {{"kernel.cpp", "does not compile"}}}});
  CHECK(answer["invalidity"] == "compile");
  const auto built = bench.events("variant_built").back();
  REQUIRE(built.payload["log_blob"].is_string());
  CHECK(bench.engine->session()->read_blob(built.payload["log_blob"].get<std::string>()).value() ==
        "cpu_unfused/kernel.cpp: does not compile");
  CHECK(bench.iterate()["outcome"] != "invalid");
}

TEST_CASE("foreign load in every turn is never a figure", "[engine][session]") {
  Bench bench;
  FakeSubject loaded = Bench::with_time(50);
  loaded.turn_flags = {"foreign_load"};
  bench.worker.subjects["cpu_tiled"] = loaded;
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["invalidity"] == "environment");
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("a kernel whose own threads wait for each other is told so", "[engine][session]") {
  Bench bench;
  FakeSubject crowded = Bench::with_time(50);
  crowded.turn_flags = {"foreign_load", "own_threads"};
  bench.worker.subjects["cpu_tiled"] = crowded;
  bench.open();
  const Json answer = bench.iterate();
  CHECK(answer["invalidity"] == "environment");
  CHECK(answer.dump().find("threads of the variant waited for each other") != std::string::npos);
  CHECK(answer.dump().find("other processes") == std::string::npos);
}

TEST_CASE("load that does not end costs no more repeats than there are turns",
          "[engine][session]") {
  const auto hot_turns = [](bool load_begins) {
    Bench bench;
    bench.open();
    FakeSubject& subject = bench.worker.subjects["cpu_tiled"];
    subject.time_us = [&subject, load_begins, n = 0](const Problem&, PlanKind plan) mutable {
      // The first turn is clean, so the lane has a figure and need not go on trying.
      if (load_begins && plan == PlanKind::hot && n++ > 0) subject.turn_flags = {"foreign_load"};
      return 100.0;
    };
    const std::size_t before = bench.worker.requests.size();
    (void)bench.engine->call("measure", {{"variant", "cpu_tiled"}}, bench.session);
    const auto& requests = bench.worker.requests;
    return std::count_if(requests.begin() + static_cast<std::ptrdiff_t>(before), requests.end(),
                         [](const protocol::Request& request) {
                           return request.verb == protocol::Verb::turn &&
                                  request.args["plan"]["kind"] == "hot";
                         });
  };
  const auto places = hot_turns(false), asked = hot_turns(true);
  INFO(places << " places, " << asked << " turns asked for");
  REQUIRE(places > 1);
  CHECK(asked > places);
  CHECK(asked <= 2 * places);
}

TEST_CASE("a stop leaves the iteration open, pause abandons it, resume goes on",
          "[engine][session]") {
  Bench bench;
  bench.open();
  FakeSubject candidate = Bench::with_time(50);
  candidate.passes = [&bench](const Problem&) {
    bench.stop = true;  // the signal arrives while the variant is judged
    return true;
  };
  bench.worker.subjects["cpu_tiled"] = candidate;
  const auto answer = bench.engine->call(
      "iterate", {{"variant", "cpu_tiled"}, {"hypothesis", "x"}, {"predicted_speedup", 1.5}},
      bench.session);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::canceled);
  REQUIRE(bench.engine->pause("stopped by a test").ok());
  bench.stop = false;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);

  bench.engine = bench.make();
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  const auto closed = bench.events("iteration_closed");
  REQUIRE(closed.size() == 2);
  CHECK(closed.back().payload["outcome"] == "abandoned");
  const Json again = bench.iterate();
  CHECK(again["iteration"] == 2);
  CHECK(again["outcome"] == "win");
}

TEST_CASE("a baseline that was killed is measured again on resume", "[engine][session]") {
  Bench bench;
  bench.worker.verb_failures[protocol::Verb::turn] = Failure{Invalidity::environment, "busy", ""};
  const auto opened = bench.engine->call("open",
                                         {{"start", "cpu_unfused"},
                                          {"rivals", {"none"}},
                                          {"effort", "quick"},
                                          {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}},
                                         bench.session);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::environment);
  bench.worker.verb_failures.clear();
  bench.engine = bench.make();
  const auto abandoned = bench.engine->resume_session(bench.session);
  REQUIRE(abandoned.ok());
  CHECK(*abandoned == 1);
  CHECK(bench.iterate({{"confirm", "never"}})["iteration"] == 2);
}

TEST_CASE("the money of an iteration is in the log, and a missing rate is null",
          "[engine][session]") {
  Bench bench;
  bench.open({{"device_usd_per_hour", 3600.0}, {"list_prices", "none"}});
  bench.iterate();
  bool device = false, compile = false;
  for (const Event& event : bench.events("cost_debited")) {
    if (event.payload["item"] == "device") {
      device = true;
      CHECK(event.payload["usd"].get<double>() == Approx(event.payload["quantity"].get<double>()));
    }
    if (event.payload["item"] == "compile_cpu") {
      compile = true;
      CHECK(event.payload["usd"].is_null());
    }
  }
  CHECK(device);
  CHECK(compile);
}

TEST_CASE("one engine works in one session after another", "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  bench.open();
  CHECK(bench.iterate()["outcome"] == "win");
  bench.call("close", Json::object(), bench.session);
  CHECK(bench.engine->session() == nullptr);

  // What the closed one found is not where the next one starts.
  bench.session = bench.folder.path() / "second";
  CHECK(bench.open()["incumbent"].get<std::string>().starts_with("cpu_unfused@"));
  CHECK(bench.iterate()["outcome"] == "win");
  CHECK(bench.events("verb_called").front().payload["n"] == 1);
  REQUIRE(bench.engine->pause("for another").ok());
  CHECK(bench.engine->session() == nullptr);

  bench.session = bench.folder.path() / "third";
  CHECK(bench.open()["incumbent"].get<std::string>().starts_with("cpu_unfused@"));
  REQUIRE(bench.engine->pause("for the second").ok());
  bench.session = bench.folder.path() / "second";
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  CHECK(bench.call("status", Json::object(), bench.session)["incumbent"]
            .get<std::string>()
            .starts_with("cpu_tiled@"));
}

TEST_CASE("what waits for an open that fails does not come with the next", "[engine][session]") {
  Bench bench;
  int hooks = 0;
  bench.engine->on_opened([&hooks]() -> Result<void> {
    ++hooks;
    return {};
  });
  CHECK_FALSE(
      bench.engine->call("open", {{"start", "no_such_kernel"}, {"suite", "n6"}}, bench.session)
          .ok());
  bench.open();
  CHECK(hooks == 0);
}
