// SPDX-License-Identifier: MIT
// Races: variants of any kernels against each other, as one iteration.
#include "core/json.hpp"
#include "tune_bench.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::variant;
using namespace wb::testing;

namespace {

/// kernels/<name>, without parameters, that takes `supports`, and its true time.
void plant_kernel(TuneBench& bench, const std::string& name, double us,
                  const Json& supports = Json::object()) {
  const fs::path kernels = bench.folder.path() / "own" / "kernels";
  fs::create_directories(kernels / name);
  const Json json{{"name", name},
                  {"about", "one of a race"},
                  {"backend", "cpu"},
                  {"supports", supports},
                  {"sources", {"kernel.cpp"}},
                  {"tune_params", Json::object()},
                  {"defaults", Json::object()},
                  {"restrictions", Json::array()},
                  {"techniques", Json::array()}};
  std::ofstream(kernels / name / "kernel.json") << json.dump();
  std::ofstream(kernels / name / "kernel.cpp") << "int " << name << ";\n";
  const Variant variant = *read_variant(bench.file_system, kernels, name);
  const auto artifact = *artifact_id(variant, {}, BuildOptions{}, bench.toolchain.get());
  bench.worker.subjects[name + "@" + short_hash(artifact)] = TuneBench::with_time(us);
}

Result<Json> try_race(TuneBench& bench, std::vector<std::string> variants,
                      Json args = Json::object()) {
  args["variants"] = variants;
  args["hypothesis"] = "one of them fits better";
  args["predicted_speedup"] = 1.5;
  return bench.engine->call("race", args, bench.session);
}

Json race(TuneBench& bench, std::vector<std::string> variants, Json args = Json::object()) {
  auto answer = try_race(bench, std::move(variants), std::move(args));
  if (!answer.ok()) FAIL(answer.error().message());
  UNSCOPED_INFO(answer->dump());
  return *answer;
}

void plant_three(TuneBench& bench) {
  bench.worker.subjects["cpu_unfused"] = TuneBench::with_time(400);
  plant_kernel(bench, "cpu_first", 300);
  plant_kernel(bench, "cpu_second", 100);
  plant_kernel(bench, "cpu_third", 200);
}

}  // namespace

TEST_CASE("the fastest of a race is confirmed and becomes the incumbent", "[engine][race]") {
  TuneBench bench;
  plant_three(bench);
  bench.open();
  const Json answer = race(bench, {"cpu_first", "cpu_second", "cpu_third"});
  CHECK(answer["outcome"] == "win");
  CHECK(answer["incumbent"].get<std::string>().find("cpu_second@") == 0);
  CHECK(answer["variant"] == answer["incumbent"]);
  CHECK(answer["speedup"].get<double>() == Approx(4.0).epsilon(0.05));
  CHECK(answer["configuration"] == Json::object());
  REQUIRE(answer["evaluations"].size() == 3);
  CHECK(answer["evaluations"][0]["variant"] == "cpu_second");
  CHECK(answer["tune"]["strategy"] == "racing");
  CHECK(answer["tune"]["tries"] == 3);
  const Json opened = bench.events("iteration_opened").back().payload;
  REQUIRE(opened["tune"]["entrants"].size() == 3);
  CHECK(opened["tune"]["entrants"][1]["variant"] == "cpu_second");
  // What was raced can be built again from the session alone.
  for (const Json& entrant : opened["tune"]["entrants"]) {
    CHECK(fs::exists(bench.session / "kernels" / entrant["variant_id"].get<std::string>() /
                     entrant["variant"].get<std::string>() / "kernel.cpp"));
  }
  for (const Event& event : bench.events("evaluation")) {
    CHECK(event.payload["variant"].get<std::string>().find("cpu_") == 0);
  }
  // The commit names the winner, not the first entrant.
  CHECK(bench.events("iteration_closed").back().payload["commit"].dump().find("cpu_second@") !=
        std::string::npos);
}

TEST_CASE("a clearly slower entrant sees one stage only", "[engine][race]") {
  TuneBench bench;
  plant_three(bench);
  bench.open();
  race(bench, {"cpu_second", "cpu_first", "cpu_third"});
  std::map<std::string, int> asked;
  for (const Event& event : bench.events("evaluation")) {
    ++asked[event.payload["variant"].get<std::string>()];
  }
  CHECK(asked["cpu_first"] == 1);
  CHECK(asked["cpu_third"] == 1);
}

TEST_CASE("an entrant that does not compile loses, the others race on", "[engine][race]") {
  TuneBench bench;
  plant_three(bench);
  bench.plant({{"AA", {1, 2}}});
  bench.toolchain->compiles = [](const Configuration&) { return false; };
  bench.open();
  const Json answer = race(bench, {"cpu_space", "cpu_second"});
  CHECK(answer["outcome"] == "win");
  CHECK(answer["incumbent"].get<std::string>().find("cpu_second@") == 0);
  CHECK(answer["tune"]["valid"] == 1);
  const Json none = race(bench, {"cpu_space", "cpu_second"}, {{"evaluations", 1}});
  CHECK(none["outcome"] == "invalid");
  CHECK(none["invalidity"] == "compile");
  CHECK(none["message"].get<std::string>().find("none of 1 variants") != std::string::npos);
}

TEST_CASE("a label of the session races in the configuration it was built with", "[engine][race]") {
  TuneBench bench;
  plant_three(bench);
  bench.plant({{"AA", {1, 2}}});
  bench.subject({{"AA", 1}}) = TuneBench::with_time(350);
  bench.subject({{"AA", 2}}) = TuneBench::with_time(50);
  bench.open();
  const Json args{{"variant", "cpu_space"},
                  {"configuration", {{"AA", 2}}},
                  {"hypothesis", "x"},
                  {"predicted_speedup", 1.1},
                  {"confirm", "never"}};
  REQUIRE(bench.engine->call("iterate", args, bench.session).ok());
  const std::string label = bench.label_of({{"AA", 2}});
  const Json answer = race(bench, {"cpu_second", label});
  CHECK(answer["incumbent"] == label);
  CHECK(answer["configuration"] == Json({{"AA", 2}}));
}

TEST_CASE("a stopped race goes on where it was", "[engine][race]") {
  TuneBench bench;
  plant_three(bench);
  bench.open();
  bench.stop_before = 3;
  bench.stop_at = "cpu_";
  CHECK_FALSE(try_race(bench, {"cpu_first", "cpu_second", "cpu_third"}).ok());
  REQUIRE(bench.events("evaluation").size() == 2);
  bench.stop = false;
  bench.stop_before = 0;
  bench.engine.reset();
  bench.engine = bench.make();
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  const Json answer = race(bench, {"cpu_first", "cpu_second", "cpu_third"});
  CHECK(answer["tune"]["replayed"] == 2);
  CHECK(answer["outcome"] == "win");
  CHECK(answer["incumbent"].get<std::string>().find("cpu_second@") == 0);
  // Another order is another race.
  CHECK(race(bench, {"cpu_third", "cpu_first"})["tune"]["replayed"] == 0);
}

TEST_CASE("what is no race is told", "[engine][race]") {
  TuneBench bench;
  plant_three(bench);
  bench.open();
  const auto refused = [&](std::vector<std::string> variants) {
    const auto answer = try_race(bench, std::move(variants));
    REQUIRE_FALSE(answer.ok());
    return answer.error().message();
  };
  CHECK(refused({"cpu_first"}).find("2 to 64") != std::string::npos);
  CHECK(refused({}).find("2 to 64") != std::string::npos);
  CHECK(refused({"cpu_first", "cpu_first"}).find("once") != std::string::npos);
  CHECK(refused({"cpu_first", "cpu_frist"}).find("cpu_first") != std::string::npos);
  CHECK(bench.events("iteration_opened").size() == 1);  // the baseline's
}
