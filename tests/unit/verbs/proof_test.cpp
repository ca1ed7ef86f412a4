// SPDX-License-Identifier: MIT
// What a session proves of an artifact: which problems its passes cover, and when nothing is
// proven.
#include "core/json.hpp"
#include "session/session.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::problem;
using testing::Bench;

namespace {

constexpr const char* k_judged =
    "B=1 Hq=4 Hkv=2 Sq=64 D=16 f32 causal=top_left; B=1 Hq=2 Sq=96 D=32 f16";

Json proof(const Bench& bench, const char* variant, const char* problem) {
  auto answer =
      bench.engine->call("proof", {{"variant", variant}, {"problem", problem}}, bench.session);
  if (!answer.ok()) FAIL(answer.error().message());
  return *answer;
}

Error refusal(const Bench& bench, const char* variant) {
  auto answer = bench.engine->call("proof", {{"variant", variant}}, bench.session);
  REQUIRE_FALSE(answer.ok());
  return answer.error();
}

}  // namespace

TEST_CASE("passes cover their dtypes and head dims up to the largest sizes", "[engine][proven]") {
  Bench bench;
  bench.open({{"problem", k_judged}});
  for (const char* problem :
       {"B=1 Hq=4 Hkv=2 Sq=64 D=16 f32 causal=top_left",
        "B=3 Hq=4 Hkv=2 Sq=33 D=16 f32 causal=top_left", "B=1 Hq=2 Sq=96 D=32 f16"}) {
    CAPTURE(problem);
    const Json told = proof(bench, "cpu_unfused", problem);
    CHECK(told["takes"] == true);
    CHECK(told["reason"].is_null());
  }
  struct Row {
    const char* problem;
    const char* why;
  };
  for (const auto& [problem, why] : {
           Row{"B=1 Hq=2 Sq=64 D=16 bf16", "no recorded pass has dtype bf16 with D=16"},
           Row{"B=1 Hq=2 Sq=64 D=3001 f32", "no recorded pass has dtype f32 with D=3001"},
           Row{"B=1 Hq=2 Sq=8192 Skv=64 D=16 f32 causal=top_left", "Sq=8192, and the largest"},
           Row{"B=1 Hq=2 Sq=64 Skv=9000 D=16 f32", "Skv=9000, and the largest"},
       }) {
    CAPTURE(problem);
    const Json told = proof(bench, "cpu_unfused", problem);
    CHECK(told["takes"] == false);
    CHECK(told["reason"].get<std::string>().find(why) != std::string::npos);
  }
  // Every pass is an event of the log, and a pass.
  const Json told = proof(bench, "cpu_unfused", "B=1 Hq=2 Sq=96 D=32 f16");
  for (const Json& pass : told["passes"]) {
    const auto event = bench.engine->session()->log().event(pass["event"].get<std::int64_t>());
    REQUIRE(event.ok());
    CHECK(event->type == "verdict_given");
    CHECK(event->payload["outcome"] == "pass");
    CHECK(event->payload["problem"] == pass["problem"]);
  }
}

TEST_CASE("one failed verdict takes the proof away", "[engine][proven]") {
  Bench bench;
  bench.open({{"problem", k_judged}});
  CHECK(bench.call("check", {{"variant", "cpu_tiled"}}, bench.session)["pass"] == true);
  CHECK(proof(bench, "cpu_tiled", "B=1 Hq=2 Sq=96 D=32 f16")["takes"] == true);
  bench.worker.subjects["cpu_tiled"].passes = [](const Problem& p) { return p.Sq != 80; };
  CHECK(bench.call("check", {{"variant", "cpu_tiled"}, {"problem", "B=1 Hq=2 Sq=80 D=32 f16"}},
                   bench.session)["pass"] == false);
  const Error error = refusal(bench, "cpu_tiled");
  CHECK(error.code == ErrorCode::wrong_result);
  CHECK(error.message().find("correctness") != std::string::npos);
}

TEST_CASE("what was never judged, or never built, is not proven", "[engine][proven]") {
  Bench bench;
  bench.open({{"problem", k_judged}});
  CHECK(refusal(bench, "cpu_online").code == ErrorCode::not_found);
  bench.call("build", {{"variant", "cpu_online"}}, bench.session);
  CHECK(refusal(bench, "cpu_online").code == ErrorCode::not_found);
  // The machine's fault is no pass and no failure.
  bench.worker.subjects["cpu_online"].verdict_failure =
      Failure{Invalidity::environment, "the machine went away", ""};
  (void)bench.engine->call("check", {{"variant", "cpu_online"}}, bench.session);
  CHECK(refusal(bench, "cpu_online").code == ErrorCode::not_found);
  bench.worker.subjects["cpu_online"].verdict_failure.reset();
  CHECK(bench.call("check", {{"variant", "cpu_online"}}, bench.session)["pass"] == true);
  CHECK(proof(bench, "cpu_online", "B=1 Hq=2 Sq=96 D=32 f16")["takes"] == true);
}

TEST_CASE("a held-out problem proves nothing while it is hidden", "[engine][proven]") {
  Bench bench;
  const fs::path kernels = bench.folder.path() / "own" / "kernels";
  fs::create_directories(kernels);
  const auto member = [](const char* name, int queries, bool held_out) {
    return Json{
        {"name", name},   {"B", 1},  {"Hq", 1},        {"Hkv", 1},         {"Sq", queries},
        {"Skv", queries}, {"D", 16}, {"dtype", "f32"}, {"causal", "none"}, {"held_out", held_out}};
  };
  const Json suites{{"version", 3},
                    {"suites",
                     {{"own",
                       {{"about", "a problem held out"},
                        {"problems", {member("seen", 32, false), member("kept", 7'000, true)}}}}}}};
  REQUIRE(bench.file_system.write_atomic(kernels / "suites.json", suites.dump(), Durability::synced)
              .ok());
  bench.roots.insert(bench.roots.begin(), bench.folder.path() / "own");
  bench.restart();
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(2'000);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(1'000);
  bench.open({{"suite", "own"}, {"problem", nullptr}});
  CHECK(bench.iterate()["outcome"] == "win");
  const char* kept = "B=1 Hq=1 Sq=7000 D=16 f32";
  CHECK(proof(bench, "cpu_tiled", kept)["takes"] == false);
  bench.call("close", {{"reason", "done"}}, bench.session);
  CHECK(proof(bench, "cpu_tiled", kept)["takes"] == true);
}

TEST_CASE("an artifact that cannot be had again is not proven here", "[engine][proven]") {
  Bench bench;
  bench.open({{"problem", k_judged}});
  bench.call("close", {{"reason", "done"}}, bench.session);
  const Json here = proof(bench, "cpu_unfused", "B=1 Hq=2 Sq=96 D=32 f16");
  fs::remove_all(bench.folder.path() / "cache");
  bench.restart();
  // The same compiler makes the same one again.
  CHECK(proof(bench, "cpu_unfused", "B=1 Hq=2 Sq=96 D=32 f16")["artifact_id"] ==
        here["artifact_id"]);
  fs::remove_all(bench.folder.path() / "cache");
  bench.toolchain->version = "fake-cc 2.0";
  bench.restart();
  const Error error = refusal(bench, "cpu_unfused");
  CHECK(error.code == ErrorCode::environment);
  CHECK(error.message().find("another artifact") != std::string::npos);
}

TEST_CASE("a bare name is proven as the variant that won, not the loser after it",
          "[engine][proven]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.open({{"problem", k_judged}});
  REQUIRE(bench.iterate({{"configuration", {{"TILE_M", 64}}}})["outcome"] == "win");
  const std::string winner = bench.engine->session()->view(session::FoldDepth::full)->incumbent;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(150);
  REQUIRE(bench.iterate({{"configuration", {{"TILE_M", 8}}}})["outcome"] == "no_gain");
  const char* problem = "B=1 Hq=2 Sq=96 D=32 f16";
  const Json told = proof(bench, "cpu_tiled", problem);
  CHECK(told["variant"] == winner);
  // A configuration narrows the name, and may name the loser.
  const Json narrowed = bench.call(
      "proof", {{"variant", "cpu_tiled"}, {"problem", problem}, {"configuration", {{"TILE_M", 8}}}},
      bench.session);
  CHECK(narrowed["variant"] != winner);
}
