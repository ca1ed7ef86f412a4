// SPDX-License-Identifier: MIT
// `playbook check`: dry runs on the fake engine, with the project's own kernels and suites.
#include <algorithm>
#include <fstream>

#include "core/clock.hpp"
#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/services.hpp"
#include "playbook/playbook.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "verbs/table.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::playbook;

namespace {

struct Bench {
  RealFileSystem file_system;
  RealClock clock;
  Engine engine{Services{.file_system = file_system,
                         .clock = clock,
                         .search_path = {{source_dir()}},
                         .cache_root = {},
                         .toolchain = nullptr,
                         .build_options = {},
                         .open_transport = {},
                         .hello = {},
                         .progress = {},
                         .on_milestone = {},
                         .workbench_version = {}},
                verbs::runnable()};
  TempDirectory temp = *TempDirectory::create("wb-check-");

  Bench() {
    register_playbook_verbs(engine,
                            {binary_dir() / "tests/unit/playbook/playbook_host_for_tests", {}});
  }

  Result<Json> check(const std::string& body, const std::string& open = "start = 'cpu_unfused'") {
    const fs::path path = temp.path() / "test.lua";
    std::ofstream(path) << "return { name = 'test', about = 'a test', open = { " << open
                        << " }, run = function(wb, args) " << body << " end }";
    return engine.call("playbook_check", {{"playbook", path.string()}});
  }
  void refuses(const std::string& body, const std::string& fragment,
               const std::string& open = "start = 'cpu_unfused'") {
    const auto answer = check(body, open);
    REQUIRE_FALSE(answer.ok());
    INFO(answer.error().message());
    CHECK(answer.error().message().find(fragment) != std::string::npos);
  }
};

constexpr const char* k_iterate =
    "wb.iterate { variant = 'cpu_tiled', hypothesis = 'h', predicted_speedup = 1.1 ";

}  // namespace

TEST_CASE("the playbooks of the project pass their dry runs", "[playbook][unit]") {
  Bench bench;
  for (const char* name : {"optimize", "baseline"}) {
    const auto answer = bench.engine.call("playbook_check", {{"playbook", name}});
    INFO((answer ? std::string("ok") : answer.error().message()));
    REQUIRE(answer.ok());
    CHECK_FALSE((*answer)["calls"].empty());
  }
}

TEST_CASE("a dry run lists calls, prints and the result", "[playbook][unit]") {
  Bench bench;
  const auto answer = bench.check(std::string("print('hello') local a = ") + k_iterate +
                                  "} wb.note { text = a.variant } return a.iteration");
  REQUIRE(answer.ok());
  CHECK((*answer)["calls"].size() == 2);
  CHECK((*answer)["calls"][1]["args"]["text"] == "cpu_tiled@00000001");
  CHECK((*answer)["printed"] == "hello\n");
  CHECK((*answer)["result"] == 1);
  CHECK((*answer)["text"].get<std::string>().find("mixed (2 calls)") != std::string::npos);
}

TEST_CASE("a dry run answers brief and history in the shape of the real ones", "[playbook][unit]") {
  Bench bench;
  const auto answer = bench.check(
      "local b, h = wb.brief {}, wb.history { query = 'tiles' } "
      "return { b.status, b.incumbent.variant, #b.last + #b.refuted + #b.next, h.total, "
      "#h.matches }");
  INFO((answer ? std::string("ok") : answer.error().message()));
  REQUIRE(answer.ok());
  CHECK((*answer)["result"] == Json{"open", "cpu_unfused@00000000", 0, 0, 0});
  const verbs::Verb* verb = verbs::find_verb("brief");
  REQUIRE(verb != nullptr);
  for (const auto& [field, meaning] : verb->spec.result) {
    const std::string asks =
        "if wb.brief {}['" + std::string(field) + "'] == nil then return 'no' end";
    const auto has = bench.check(asks);
    REQUIRE(has.ok());
    if (field != "in_flight") CHECK((*has)["result"] != "no");  // null: nothing is in flight
  }
}

TEST_CASE("a dry run measures each problem that is named", "[playbook][unit]") {
  Bench bench;
  const std::string measure =
      "local rows = wb.measure { variant = 'cpu_tiled', "
      "problem = 'B=1 Hq=1 Sq=64 D=32 f32; B=2 Hq=1 Sq=64 D=32 f32' }.problems ";
  const auto answer =
      bench.check(measure +
                  "local r = rows[2] return { #rows, r.outcome, r.problem, r.median_us and "
                  "r.median_us * r.gflop_per_s > 0 }");
  INFO((answer ? std::string("ok") : answer.error().message()));
  REQUIRE(answer.ok());
  CHECK((*answer)["result"][0] == 2);
  CHECK((*answer)["result"][1] == "measured");
  CHECK((*answer)["result"][2].get<std::string>().rfind("B=2 Hq=1", 0) == 0);
  CHECK((*answer)["result"][3] == true);
  bench.refuses(measure + "return rows[1].tflops > 0", "number with nil");
  bench.refuses(measure + "return rows[1].median_us > 0", "when every iteration is invalid");
  bench.refuses("wb.measure { variant = 'cpu_tiled', problem = 'B=0 Hq=1 Sq=4 D=4 f32' }", "B");
}

TEST_CASE("mistakes that would end a night's run are found at once", "[playbook][unit]") {
  Bench bench;
  bench.refuses("wb.iterate { variant = 'cpu_tiled' }", "hypothesis");
  bench.refuses("wb.iterate { hypothesis = 'h', predicted_speedup = 1.1, variant = 'cpu_tild' }",
                "did you mean cpu_tiled");
  bench.refuses("wb.iterate { hypothesis = 'h', predicted_speedup = 'fast' }", "must be a number");
  bench.refuses("wb.check { variant = 'gone@12345678' }", "no iteration of this session");
  bench.refuses("wb.compare { candidate = 'cpu_tiled', against = 'nothing' }", "nothing");
  bench.refuses("wb.close {} wb.note { text = 'late' }", "the session is closed");
  bench.refuses("", "did you mean n6", "start = 'cpu_unfused', suite = 'n66'");
  bench.refuses("", "did you mean cpu_unfused", "start = 'cpu_unfuse'");
  bench.refuses("", "Hkv", "start = 'cpu_unfused', problem = 'B=1 Hq=3 Hkv=2 Sq=4 D=4'");
  bench.refuses("", "sute", "start = 'cpu_unfused', sute = 'n6'");
}

TEST_CASE("a playbook must live with invalid and stopped answers", "[playbook][unit]") {
  Bench bench;
  const std::string compares = std::string("local a = ") + k_iterate + "} return a.speedup > 1";
  bench.refuses(compares, "when every iteration is invalid: test.lua:1: attempt to compare");
  bench.refuses(std::string("local a = ") + k_iterate +
                    "} if a.outcome == 'stopped' then error('not thought of') end",
                "when the budget is already spent: test.lua:1: not thought of");
  const auto loop = bench.check(std::string("local n = 0 repeat local a = ") + k_iterate +
                                "} n = n + 1 until a.stop_reason return n");
  REQUIRE(loop.ok());
  CHECK((*loop)["result"] == 8);
}

TEST_CASE("the mixed course has wins, losses and answers without a figure", "[playbook][unit]") {
  Bench bench;
  const auto answer =
      bench.check(std::string("local seen = {} for i = 1, 8 do local a = ") + k_iterate +
                  "} seen[i] = a.outcome .. (a.speedup and '' or '?') "
                  "end return seen");
  REQUIRE(answer.ok());
  const Json seen = (*answer)["result"];
  for (const char* outcome : {"win", "no_gain", "no_gain?"}) {
    INFO(seen.dump());
    CHECK(std::count(seen.begin(), seen.end(), Json(outcome)) > 0);
  }
}

TEST_CASE("parameters that the kernel lacks are an invalid iteration", "[playbook][unit]") {
  Bench bench;
  const std::string report = " return { a.outcome, a.invalidity or '-' }";
  const auto tried = [&](const std::string& configuration) {
    return (*bench.check(std::string("local a = ") + k_iterate + ", configuration = { " +
                         configuration + " } }" + report))["result"];
  };
  CHECK(tried("TILE_Q = 4") == Json({"invalid", "constraints"}));
  CHECK(tried("TILE_M = 7") == Json({"invalid", "constraints"}));
  CHECK(tried("TILE_M = 16")[0] != "invalid");
}

TEST_CASE("labels of earlier answers can be used", "[playbook][unit]") {
  Bench bench;
  CHECK(bench
            .check(std::string("local a = ") + k_iterate +
                   "} wb.iterate { variant = a.variant, hypothesis = 'again', "
                   "predicted_speedup = 1.0 } wb.check { variant = a.incumbent } "
                   "wb.iterate { files = { ['kernel.cpp'] = 'x' }, name = 'derived', "
                   "hypothesis = 'h', predicted_speedup = 2 }")
            .ok());
}
