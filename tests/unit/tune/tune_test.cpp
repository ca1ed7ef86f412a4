// SPDX-License-Identifier: MIT
// Tunes against a fake worker with planted times: what is found, built, timed, logged and repeated.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.hpp"
#include "tune_bench.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::variant;
using testing::FakeSubject;
using testing::k_best;
using testing::plant_bowl;
using testing::plant_four;
using testing::TuneBench;

TEST_CASE("every strategy finds the planted best, confirms it and makes one commit",
          "[engine][tune]") {
  for (const char* strategy : {"exhaustive", "random", "hill_climb", "racing"}) {
    INFO(strategy);
    TuneBench bench;
    plant_bowl(bench);
    bench.open();
    const Json answer = bench.tune({{"strategy", strategy}});
    CHECK(answer["outcome"] == "win");
    CHECK(answer["configuration"] == k_best);
    CHECK(answer["variant"] == bench.label_of({{"M0", 4}, {"N0", 2}}));
    CHECK(answer["incumbent"] == answer["variant"]);
    CHECK(answer["decision"] == "supported");
    // The figure is the confirmation's, against the incumbent: 400 us to 50 us.
    CHECK(answer["speedup"].get<double>() == Approx(8.0).epsilon(0.02));
    CHECK(answer["evaluations"].front()["configuration"] == k_best);
    CHECK(bench.events("iteration_committed").size() == 2);
    const auto changes = bench.events("incumbent_changed");
    REQUIRE(changes.size() == 2);
    CHECK(changes.back().payload["configuration"] == k_best);
    const Json& tune = answer["tune"];
    CHECK(tune["told"].get<int>() <= 12);
    CHECK(tune["tries"] == tune["told"]);
    CHECK(tune["confirmed"] == true);
    const auto opened = bench.events("iteration_opened").back().payload;
    CHECK(opened["tune"]["strategy"] == strategy);
    CHECK(opened["tune"]["space_size"] == 12);
  }
}

TEST_CASE("the same seed asks the same, another seed otherwise", "[engine][tune]") {
  std::vector<std::vector<std::string>> asked;
  for (const int seed : {1, 1, 2}) {
    TuneBench bench;
    plant_bowl(bench);
    bench.open();
    bench.tune({{"seed", seed}, {"evaluations", 6}});
    asked.push_back(bench.asked());
  }
  CHECK(asked[0].size() == 6);
  CHECK(asked[0] == asked[1]);
  CHECK(asked[0] != asked[2]);
}

TEST_CASE("equal code is measured once, whatever it is called", "[engine][tune]") {
  TuneBench bench;
  bench.plant({{"M0", {1, 2, 4}}, {"N0", {1, 2, 4}}});
  bench.toolchain->code = [](const Configuration& c) { return std::to_string(c.at("M0")); };
  bench.set_times([](const Configuration& c) { return 100.0 / static_cast<double>(c.at("M0")); });
  bench.open();
  const Json answer = bench.tune({{"strategy", "random"}});
  CHECK(answer["tune"]["told"] == 9);
  CHECK(answer["tune"]["duplicates"] == 6);
  CHECK(answer["configuration"]["M0"] == 4);
  std::set<std::string> timed;
  for (const Event& event : bench.events("evaluation")) {
    if (event.payload["duplicate"] == true) {
      CHECK(event.payload["duplicate_of"].is_object());
      CHECK(event.payload["events"].is_null());
    } else {
      CHECK(timed.insert(event.payload["code_hash"].get<std::string>()).second);
    }
  }
  CHECK(timed.size() == 3);
}

TEST_CASE("a budget of evaluations is kept, failed ones included", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  bench.toolchain->compiles = [](const Configuration& c) { return c.at("M0") != 2; };
  bench.open();
  const Json answer = bench.tune({{"strategy", "exhaustive"}, {"evaluations", 6}});
  CHECK(bench.events("evaluation").size() == 6);
  // M0=1 N0=1, 2, 4, then M0=2, which never compiles.
  CHECK(answer["tune"]["valid"] == 3);
  CHECK(answer["configuration"] == Json({{"M0", 1}, {"N0", 2}}));
  CHECK(answer["message"].get<std::string>().find("6 of 6 evaluations") != std::string::npos);
  // No more is built than the budget may still ask for.
  CHECK(answer["tune"]["builds"] == 6);
}

TEST_CASE("seconds and money end a search", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  bench.open({{"device_usd_per_hour", 3600.0}});
  // Where the time is up before anything is built, the iteration still has the sources it names.
  const Json timed = bench.tune({{"seconds", 0.001}});
  CHECK(timed["tune"]["ended"].get<std::string>().find("budget") == 0);
  CHECK(timed["tune"]["told"].get<int>() <= 1);
  const Json paid = bench.tune({{"usd", 0.000001}});
  CHECK(paid["tune"]["ended"].get<std::string>().find("budget: $") == 0);
  CHECK(paid["tune"]["told"].get<int>() == 1);
}

TEST_CASE("a wrong configuration gets the correctness word and never a time", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  const Configuration best{{"M0", 4}, {"N0", 2}};
  bench.subject(best).passes = [](const Problem& problem) { return problem.Sq % 8 == 0; };  // drawn
  bench.open();
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["outcome"] == "win");
  CHECK(answer["configuration"] != k_best);
  CHECK(answer["tune"]["valid"] == 11);
  CHECK(bench.tune_turns(bench.label_of(best)) == 0);
  int wrong = 0;
  for (const Event& event : bench.events("evaluation")) {
    if (event.payload["configuration"] != k_best) continue;
    ++wrong;
    CHECK(event.payload["outcome"] == "correctness");
    CHECK(event.payload["speedup"].is_null());
    CHECK(event.payload["message"].get<std::string>().find("max error") != std::string::npos);
  }
  CHECK(wrong == 1);
}

TEST_CASE("a cheat that is wrong while it is timed never leads", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  FakeSubject& cheat = bench.subject({{"M0", 8}, {"N0", 4}});
  cheat = TuneBench::with_time(1);
  cheat.spot_passes = false;
  bench.open();
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["configuration"] == k_best);
  for (const Event& event : bench.events("evaluation")) {
    if (event.payload["configuration"] != Json({{"M0", 8}, {"N0", 4}})) continue;
    CHECK(event.payload["outcome"] == "correctness");
  }
}

TEST_CASE("nothing valid is an invalid iteration that says why", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.toolchain->compiles = [](const Configuration& c) { return c.size() != 2; };
  bench.open();
  const Json answer = bench.tune();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "compile");
  CHECK(answer["decision"] == "undecided");
  CHECK(answer["message"].get<std::string>().find("none of 4 configurations") != std::string::npos);
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("the incumbent's own configuration as the best changes nothing", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.open();
  REQUIRE(bench.tune({{"strategy", "exhaustive"}})["outcome"] == "win");
  const auto turns = bench.events("turn_measured").size();
  const Json again = bench.tune({{"variant", "cpu_space"}, {"strategy", "exhaustive"}});
  CHECK(again["outcome"] == "no_gain");
  CHECK(again["decision"] == "refuted");
  CHECK(again["message"].get<std::string>().find("incumbent's own") != std::string::npos);
  // It starts from the incumbent's configuration, and confirms nothing against itself.
  CHECK(bench.events("iteration_opened").back().payload["configuration"] == again["configuration"]);
  const auto log = bench.events("turn_measured");
  for (std::size_t i = turns; i < log.size(); ++i) CHECK(log[i].payload["phase"] == "tune");
}

TEST_CASE("a luckily fast turn does not survive the confirmation", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.set_times([](const Configuration&) { return 400.0; });
  int turns = 0;  // of the last one asked, so that nothing is measured against it again
  bench.subject({{"M0", 2}, {"N0", 2}}).time_us = [&turns](const Problem&, PlanKind) {
    return ++turns <= 2 ? 200.0 : 400.0;
  };
  bench.open();
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["configuration"] == Json({{"M0", 2}, {"N0", 2}}));
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["speedup"].get<double>() == Approx(1.0).epsilon(0.02));
  CHECK(bench.events("incumbent_changed").size() == 1);
}

TEST_CASE("what is behind after half a round gets no further turns", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.set_times([](const Configuration& c) {
    return c.at("M0") == 1 && c.at("N0") == 1   ? 50.0
           : c.at("M0") == 2 && c.at("N0") == 2 ? 49.0
                                                : 500.0;
  });
  bench.open({{"effort", "standard"}});
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["tune"]["stopped_early"] == 2);
  // ABBA: two turns a round, one in its first half.
  CHECK(bench.tune_turns(bench.label_of({{"M0", 1}, {"N0", 2}})) == 1);
  CHECK(bench.tune_turns(bench.label_of({{"M0", 2}, {"N0", 1}})) == 1);
  CHECK(bench.tune_turns(bench.label_of({{"M0", 2}, {"N0", 2}})) == 4);
}

TEST_CASE("held-out problems are measured at the confirmation only", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  const fs::path suites = bench.folder.path() / "own" / "kernels" / "suites.json";
  std::ofstream(suites) << R"({"version": 2, "suites": {"two": {"about": "one is held out",
    "problems": [
      {"name": "shown", "B": 1, "Hq": 1, "Hkv": 1, "Sq": 32, "Skv": 32, "D": 16,
       "causal": "none", "dtype": "f32"},
      {"name": "secret", "B": 1, "Hq": 1, "Hkv": 1, "Sq": 48, "Skv": 48, "D": 16,
       "causal": "none", "dtype": "f32", "held_out": true}]}}})";
  bench.open({{"suite", "two"}});
  const Json answer = bench.tune();
  CHECK(answer["outcome"] == "win");
  CHECK(answer.dump().find("secret") == std::string::npos);
  std::map<std::string, int> secret_turns;
  for (const Event& event : bench.events("turn_measured")) {
    if (event.payload["problem"].get<std::string>().find("Sq=48") == std::string::npos) continue;
    ++secret_turns[event.payload["phase"].get<std::string>()];
  }
  CHECK(secret_turns.size() == 1);
  CHECK(secret_turns["confirmation"] > 0);
}

TEST_CASE("spaces that cannot be tuned are refused before an iteration is opened",
          "[engine][tune]") {
  TuneBench bench;
  bench.plant({{"M0", {1, 2}}}, {"M0 * 100 < D"});
  bench.worker.subjects["cpu_unfused"] = TuneBench::with_time(400);
  bench.open();
  const auto refused = [&](const Json& args) {
    const auto answer = bench.try_tune(args);
    REQUIRE_FALSE(answer.ok());
    CHECK(bench.events("iteration_opened").size() == 1);
    return answer.error().message();
  };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(refused({}), "\"M0 * 100 < D\"");
  has(refused({{"variant", "cpu_unfused"}}), "no tunable parameters");
  has(refused({{"strategy", "exhaustion"}}), "did you mean exhaustive?");
  has(refused({{"evaluations", 0}}), "evaluations\" is 0");
  has(refused({{"seconds", 0.0}}), "seconds\" is 0");
  has(refused({{"variant", "cpu_tield"}}), "did you mean");
}

TEST_CASE("a money budget needs a rate: the session's own or a list price", "[engine][tune]") {
  TuneBench unpriced;
  unpriced.worker.subjects["cpu_unfused"] = TuneBench::with_time(400);
  unpriced.open({{"list_prices", "none"}});
  const auto refused = unpriced.try_tune({{"variant", "cpu_tiled"}, {"usd", 1.0}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("no rate") != std::string::npos);
  CHECK(unpriced.events("iteration_opened").size() == 1);

  TuneBench listed;
  listed.worker.subjects["cpu_unfused"] = TuneBench::with_time(400);
  listed.open();
  CHECK(listed.try_tune({{"variant", "cpu_tiled"}, {"usd", 1.0}}).ok());
}

TEST_CASE("ten million configurations need a limit and then start at once", "[engine][tune]") {
  TuneBench bench;
  std::map<std::string, std::vector<std::int64_t>> lists;
  for (const char* name : {"M0", "N0", "K0", "D1", "P0", "U0", "V0"}) {
    for (std::int64_t v = 1; v <= 10; ++v) lists[name].push_back(v);
  }
  bench.plant(lists);
  bench.worker.other = TuneBench::with_time(100);
  bench.worker.subjects["cpu_unfused"] = TuneBench::with_time(400);
  bench.open();
  const auto refused = bench.try_tune();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("10000000 configurations") != std::string::npos);
  const Json answer = bench.tune({{"evaluations", 3}});
  CHECK(answer["tune"]["told"] == 3);
  CHECK(answer["tune"]["space_size"] == 10'000'000);
}
