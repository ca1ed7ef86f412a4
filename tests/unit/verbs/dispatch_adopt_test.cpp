// SPDX-License-Identifier: MIT
// `dispatch adopt`: what a rule offers on another device or by another compiler is judged and timed
// once, and `best` serves it from then on.
#include <fstream>

#include "core/json.hpp"
#include "session/log.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;
using testing::FakeSubject;

namespace {

constexpr const char* k_asked = "B=1 Hq=2 Sq=64 D=32 f32";
constexpr const char* k_also = "B=1 Hq=2 Sq=48 D=16 f32";

/// A rule whose session is nowhere.
Json rule_for(const std::string& variant, const std::string& device,
              const std::string& dtype = "f32") {
  return Json{{"device", device},
              {"when", "Sq >= 16"},
              {"dtypes", {dtype}},
              {"variant", variant},
              {"artifact_id", std::string(64, 'a')},
              {"session", "sessions/elsewhere"}};
}

/// The rules before the fallback, in a table of its own.
void write_rules(Bench& bench, std::vector<Json> rules) {
  const fs::path kernels = bench.folder.path() / "first" / "kernels";
  fs::create_directories(kernels);
  rules.push_back({{"variant", "cpu_unfused"}});
  std::ofstream(kernels / "dispatch.json") << Json{{"version", 1}, {"rules", rules}}.dump();
  bench.roots = {bench.folder.path() / "first", source_dir()};
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(100);
  bench.restart();
}

/// One rule, for cpu_tiled.
void write_rule(Bench& bench, const std::string& device) {
  Json rule = rule_for("cpu_tiled", device);
  write_rules(bench, {std::move(rule)});
}

/// The cause of `best --proven` that finds nothing.
std::string why_not(Bench& bench, const char* problem = k_asked) {
  const auto best = bench.engine->call("best", {{"problem", problem}, {"proven", true}});
  return best.ok() ? "served" : best.error().cause;
}

bool says(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a rule for another device is offered, adopted, and serves", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  CHECK(says(why_not(bench), "it is for a device called \"Another CPU\""));
  CHECK(says(why_not(bench), "offered: `sdpa-wb dispatch adopt --problem '"));
  const Json answer = bench.call("dispatch_adopt", {{"problem", k_asked}});
  CHECK(answer["device"] == "Fake CPU");
  REQUIRE(answer["rules"].size() == 1);
  const Json& row = answer["rules"][0];
  CHECK(row["rule"] == 1);
  CHECK(row["outcome"] == "adopted");
  CHECK(bench.engine->session() == nullptr);
  REQUIRE_FALSE(row["figures"].empty());
  CHECK(row["figures"][0]["against"] == "cpu_unfused");
  CHECK(row["figures"][0]["outcome"] == "faster");
  const fs::path folder = row["session"].get<std::string>();
  CHECK(folder.parent_path() == bench.folder.path() / "data" / "adopted");
  CHECK(says(answer["text"].get<std::string>(), "rule 1, cpu_tiled: adopted"));
  bench.restart();
  const Json best = bench.call("best", {{"problem", k_asked}, {"proven", true}});
  CHECK(best["rule"] == 1);
  CHECK(best["variant"] == "cpu_tiled");
  CHECK(best["proof"]["session"] == folder.string());
  CHECK(best["proof"]["artifact_id"] == row["artifact_id"]);
  // Without --proven the rule stays one for another device.
  CHECK(bench.call("best", {{"problem", k_asked}})["fallback"] == true);
  // What was not judged is not served: it is offered by itself.
  CHECK(says(why_not(bench, k_also), "offered"));
  // Adopting again has nothing to do.
  const Json again = bench.call("dispatch_adopt", {{"problem", k_asked}});
  CHECK(again["rules"][0]["outcome"] == "served");
  CHECK(again["rules"][0]["session"] == folder.string());
  CHECK(Bench::snapshot(folder.parent_path()).size() == Bench::snapshot(folder).size());
}

TEST_CASE("an adopted pass holds for its device and its compiler", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  const Json first = bench.call("dispatch_adopt", {{"problem", k_asked}});
  CHECK(first["rules"][0]["outcome"] == "adopted");
  const Json there{{"problem", k_asked}, {"proven", true}, {"device", "A third CPU"}};
  CHECK_FALSE(bench.engine->call("best", there).ok());
  bench.toolchain->version = "fake-cc 2.0";
  fs::remove_all(bench.folder.path() / "cache");
  bench.restart();
  CHECK(says(why_not(bench), "what passed was compiled by fake-cc 1.0"));
  CHECK(says(why_not(bench), "offered"));
  const Json second = bench.call("dispatch_adopt", {{"problem", k_asked}});
  CHECK(second["rules"][0]["outcome"] == "adopted");
  CHECK(second["rules"][0]["session"] != first["rules"][0]["session"]);
  CHECK(why_not(bench) == "served");
}

TEST_CASE("a GPU is offered no CPU rule, and a CPU none of a GPU", "[engine][adopt]") {
  Bench bench;
  bench.cuda_toolchain = bench.toolchain;  // there is a compiler for it
  write_rules(bench, {rule_for("cpu_tiled", "Another CPU"),
                      rule_for("sm80_mma_flash", "NVIDIA H200", "bf16")});
  constexpr const char* k_gpu = "B=1 Hq=16 Sq=2048 D=128 bf16";
  const auto asked = [&bench](const char* problem, const char* device) {
    const auto best =
        bench.engine->call("best", {{"problem", problem}, {"proven", true}, {"device", device}});
    REQUIRE_FALSE(best.ok());
    return says(best.error().cause, "offered: `sdpa-wb dispatch adopt");
  };
  CHECK(asked(k_asked, "A third CPU"));
  CHECK_FALSE(asked(k_asked, "NVIDIA H200"));
  CHECK_FALSE(asked(k_asked, "NVIDIA whatever comes"));
  CHECK_FALSE(asked(k_gpu, "Fake CPU"));
  // Of another GPU the architecture decides.
  CHECK(asked(k_gpu, "NVIDIA H100 80GB HBM3"));
  CHECK_FALSE(asked(k_gpu, "NVIDIA whatever comes"));
}

TEST_CASE("a rule that is slower here is declined and not offered again", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(200);
  const Json answer = bench.call("dispatch_adopt", {{"problem", k_asked}});
  CHECK(answer["rules"][0]["outcome"] == "declined");
  CHECK(says(answer["rules"][0]["reason"].get<std::string>(), "cpu_unfused"));
  CHECK(says(why_not(bench), "declined here: "));
  CHECK_FALSE(says(why_not(bench), "offered"));
  // Whoever asks again gets another try, and it counts.
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  CHECK(bench.call("dispatch_adopt", {{"problem", k_asked}})["rules"][0]["outcome"] == "adopted");
  CHECK(why_not(bench) == "served");
}

TEST_CASE("what a problem was refused for is not served by a larger one's pass",
          "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  constexpr const char* k_larger = "B=1 Hq=2 Sq=64 D=16 f32";  // it covers k_also
  bench.worker.subjects["cpu_tiled"].passes = [](const problem::Problem& problem) {
    return problem.Sq != 48;
  };
  CHECK(bench.call("dispatch_adopt", {{"problem", k_also}})["rules"][0]["outcome"] == "failed");
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  CHECK(bench.call("dispatch_adopt", {{"problem", k_larger}})["rules"][0]["outcome"] == "adopted");
  CHECK(why_not(bench, k_larger) == "served");
  CHECK(says(why_not(bench, k_also), "failed here: "));
  CHECK(why_not(bench, "B=1 Hq=2 Sq=40 D=16 f32") == "served");  // nobody refused that one
  // Another try of that very problem counts.
  CHECK(bench.call("dispatch_adopt", {{"problem", k_also}})["rules"][0]["outcome"] == "adopted");
  CHECK(why_not(bench, k_also) == "served");
}

TEST_CASE("a refusal is found by the problem's text, whatever suite named it", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(20'000);  // slower than its roofline, too
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(5'000);
  const Json answer = bench.call("dispatch_adopt", {{"suite", "unusual:fp32_D64_1k"}});
  INFO(answer["rules"].dump());
  REQUIRE(answer["rules"][0]["outcome"] == "declined");
  const std::string text = answer["rules"][0]["problem"];
  CHECK(text.starts_with("B="));
  CHECK(says(why_not(bench, text.c_str()), "declined here: "));
  CHECK_FALSE(says(why_not(bench, text.c_str()), "offered"));
}

TEST_CASE("a refusal holds for its compiler alone", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(200);
  CHECK(bench.call("dispatch_adopt", {{"problem", k_asked}})["rules"][0]["outcome"] == "declined");
  CHECK_FALSE(says(why_not(bench), "offered"));
  bench.toolchain->version = "fake-cc 2.0";
  fs::remove_all(bench.folder.path() / "cache");
  bench.restart();
  CHECK(says(why_not(bench), "offered"));
  CHECK_FALSE(says(why_not(bench), "declined"));
}

TEST_CASE("a later rule is tried where the first was refused", "[engine][adopt]") {
  Bench bench;
  write_rules(bench, {rule_for("cpu_tiled", "Another CPU"), rule_for("cpu_online", "Another CPU")});
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(200);
  bench.worker.subjects["cpu_online"] = Bench::with_time(60);
  const auto adopt = [&bench] { return bench.call("dispatch_adopt", {{"problem", k_asked}}); };
  CHECK(adopt()["rules"][0]["outcome"] == "declined");
  CHECK(says(why_not(bench), "offered"));  // the other one
  const Json second = adopt();
  CHECK(second["rules"][0]["rule"] == 2);
  CHECK(second["rules"][0]["outcome"] == "adopted");
  CHECK(bench.call("best", {{"problem", k_asked}, {"proven", true}})["variant"] == "cpu_online");
}

TEST_CASE("what the figures came to is said", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  const Json first = bench.call("dispatch_adopt", {{"problem", k_asked}})["rules"][0];
  CHECK(first["reason"] == "adopted here: it passed, and no rival is faster");
  // The fallback itself has nothing to be timed beside.
  write_rules(bench, {rule_for("cpu_unfused", "Another CPU")});
  bench.worker.subjects.erase("torch_cpu_sdpa");  // one that the fake worker times by its own rule
  const Json even = bench.call("dispatch_adopt", {{"problem", k_asked}})["rules"][0];
  CHECK(even["outcome"] == "adopted");
  CHECK(even["reason"] ==
        "adopted here: it passed; the comparison with torch_cpu_sdpa is undecided");
  bench.worker.subjects["torch_cpu_sdpa"].passes = [](const problem::Problem&) { return false; };
  const Json alone = bench.call("dispatch_adopt", {{"problem", k_also}})["rules"][0];
  CHECK(alone["outcome"] == "adopted");
  CHECK(alone["reason"] == "adopted here: it passed; no rival could be timed beside it");
}

TEST_CASE("the next verb has the device that it would have had", "[engine][adopt]") {
  Bench bench;
  bench.cuda_toolchain = bench.toolchain;
  write_rules(bench, {rule_for("cpu_tiled", "Another CPU")});
  bench.call("dispatch_adopt", {{"problem", k_asked}, {"backend", "cuda"}});
  const int started = bench.workers_started;
  CHECK(bench.call("dispatch_adopt", {{"problem", k_asked}})["rules"][0]["outcome"] == "adopted");
  CHECK(bench.workers_started > started);  // the one for the GPU was ended
}

TEST_CASE("a rule that is wrong here is told as an outcome and never serves", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  bench.worker.subjects["cpu_tiled"].passes = [](const problem::Problem&) { return false; };
  const Json answer = bench.call("dispatch_adopt", {{"problem", k_asked}});
  CHECK(answer["rules"][0]["outcome"] == "failed");
  CHECK(says(answer["rules"][0]["reason"].get<std::string>(), "correctness"));
  CHECK(says(why_not(bench), "failed here: correctness"));
  CHECK_FALSE(says(why_not(bench), "offered"));
  CHECK(bench.engine->session() == nullptr);
  CHECK(bench.call("suites", Json::object()).is_object());
}

TEST_CASE("a machine that cannot measure holds nothing against a rule", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  bench.worker.subjects["cpu_tiled"].turn_failure =
      Failure{Invalidity::environment, "others were busy", ""};
  const auto answer = bench.engine->call("dispatch_adopt", {{"problem", k_asked}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::environment);
  CHECK(says(answer.error().next, "adopt it again"));
  CHECK(says(why_not(bench), "offered"));
  CHECK(bench.engine->session() == nullptr);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(50);
  CHECK(bench.call("dispatch_adopt", {{"problem", k_asked}})["rules"][0]["outcome"] == "adopted");
}

TEST_CASE("each problem is tried by itself, and one slow one refuses no other", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  bench.worker.subjects["cpu_tiled"].passes = [](const problem::Problem& problem) {
    return problem::to_text(problem) != problem::to_text(*problem::parse_problem(k_asked));
  };
  const std::string both = std::string(k_asked) + ";" + k_also + ";B=1 Hq=2 Sq=8 D=32 f32";
  const Json answer = bench.call("dispatch_adopt", {{"problem", both}});
  REQUIRE(answer["rules"].size() == 3);
  CHECK(answer["rules"][0]["outcome"] == "none");  // Sq=8 has the fallback only
  CHECK(answer["rules"][1]["outcome"] == "failed");
  CHECK(answer["rules"][2]["outcome"] == "adopted");
  CHECK(answer["rules"][1]["session"] != answer["rules"][2]["session"]);
  CHECK(says(why_not(bench), "failed here"));
  CHECK(why_not(bench, k_also) == "served");
}

TEST_CASE("what cannot be adopted is an error that says why", "[engine][adopt]") {
  Bench bench;
  write_rule(bench, "Another CPU");
  const auto code_of = [&bench](const Json& args) {
    const auto answer = bench.engine->call("dispatch_adopt", args);
    REQUIRE_FALSE(answer.ok());
    return answer.error().code;
  };
  CHECK(code_of(Json::object()) == ErrorCode::usage);
  CHECK(code_of({{"problem", "B=none"}}) == ErrorCode::parse);
  CHECK(code_of({{"suite", "no_such_suite"}}) == ErrorCode::not_found);
  CHECK(code_of({{"problem", k_asked}, {"backend", "abacus"}}) == ErrorCode::usage);
  bench.data_root.clear();
  bench.restart();
  CHECK(code_of({{"problem", k_asked}}) == ErrorCode::usage);
  CHECK(says(why_not(bench), "it is for a device called"));
  CHECK_FALSE(says(why_not(bench), "offered"));  // there is no place for what would pass
  bench.data_root = bench.folder.path() / "data";
  bench.restart();
  bench.open();
  CHECK(code_of({{"problem", k_asked}}) == ErrorCode::usage);
}
