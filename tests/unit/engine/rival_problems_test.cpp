// SPDX-License-Identifier: MIT
// The problems on which rivals are judged, timed and compared, and the rivals that have a figure
// over the suite.
#include <fstream>
#include <set>

#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::variant;
using testing::Bench;
using testing::FakeSubject;
using testing::subject_name;

namespace {

constexpr const char* k_two_problems = "B=1 Hq=1 Sq=32 D=16 f32;B=1 Hq=2 Sq=48 D=16 f32";

/// Start, two candidates that are faster one after the other, and rivals; its suite "two" holds
/// one problem out, of Sq=48.
struct RivalBench : Bench {
  RivalBench() {
    const fs::path kernels = folder.path() / "own" / "kernels";
    fs::create_directories(kernels);
    std::ofstream(kernels / "suites.json") << R"({"version": 2, "suites": {"two": {
      "about": "one is held out", "problems": [
      {"name": "shown", "B": 1, "Hq": 1, "Hkv": 1, "Sq": 32, "Skv": 32, "D": 16,
       "causal": "none", "dtype": "f32"},
      {"name": "secret", "B": 1, "Hq": 1, "Hkv": 1, "Sq": 48, "Skv": 48, "D": 16,
       "causal": "none", "dtype": "f32", "held_out": true}]}}})";
    roots.insert(roots.begin(), folder.path() / "own");
    restart();
    worker.subjects["cpu_unfused"] = with_time(200);
    worker.subjects["cpu_tiled"] = with_time(100);
    worker.subjects["cpu_simd_flash"] = with_time(40);
    worker.subjects["torch_cpu_sdpa"] = with_time(50);
  }
  /// Session and suite "two", which Bench::open() would add a problem to.
  Json open_two() {
    return call("open",
                {{"start", "cpu_unfused"},
                 {"suite", "two"},
                 {"rivals", {"torch_cpu_sdpa"}},
                 {"effort", "quick"}},
                session);
  }
  [[nodiscard]] std::int64_t count_on_secret(std::string_view type, const char* subject) const {
    std::int64_t n = 0;
    for (const Event& event : events(type)) {
      const auto problem = event.payload["problem"].get<std::string>();
      n += subject_name(event) == subject && problem.find("Sq=48") != std::string::npos ? 1 : 0;
    }
    return n;
  }
  /// "baseline torch_cpu_sdpa" of each rival's comparison over the suite.
  [[nodiscard]] std::set<std::string> totals() const {
    std::set<std::string> found;
    for (const Event& event : events("comparison_made")) {
      const Json& made = event.payload;
      if (made["role"] != "rival" || !made["problem"].is_null()) continue;
      found.insert(made["phase"].get<std::string>() + " " + made["against"].get<std::string>());
    }
    return found;
  }
};

}  // namespace

TEST_CASE("rivals are neither judged nor timed on held-out problems", "[engine][session]") {
  RivalBench bench;
  CHECK(bench.open_two()["rivals"] == Json{"torch_cpu_sdpa"});
  CHECK(bench.iterate()["outcome"] == "win");
  bench.restart();  // another process has its rivals from the log
  CHECK(bench.iterate({{"variant", "cpu_simd_flash"}})["outcome"] == "win");
  for (const char* candidate : {"cpu_tiled", "cpu_simd_flash"}) {
    CHECK(bench.count_on_secret("verdict_given", candidate) > 0);
    CHECK(bench.count_on_secret("turn_measured", candidate) > 0);
  }
  CHECK(bench.count_on_secret("verdict_given", "torch_cpu_sdpa") == 0);
  CHECK(bench.count_on_secret("turn_measured", "torch_cpu_sdpa") == 0);
  std::int64_t beside_rival = 0;
  for (const Event& event : bench.events("comparison_made")) {
    if (event.payload["role"] != "rival" || event.payload["problem"].is_null()) continue;
    ++beside_rival;
    CHECK(event.payload["problem"].get<std::string>().find("Sq=48") == std::string::npos);
  }
  CHECK(beside_rival > 0);
}

TEST_CASE("a problem refused at a turn fails there only", "[engine][session]") {
  RivalBench bench;
  int refusals = 0;
  bench.worker.subjects["torch_cpu_sdpa"].takes = [&](const Problem& problem) {
    const bool refuses =
        problem.Sq == 32 && bench.worker.requests.back().verb == protocol::Verb::turn;
    refusals += refuses ? 1 : 0;
    return !refuses;  // its verdicts passed
  };
  const Json opened = bench.open({{"problem", k_two_problems}, {"rivals", {"torch_cpu_sdpa"}}});
  CHECK(opened["rivals"] == Json{"torch_cpu_sdpa"});
  CHECK(refusals == 1);  // under every plan and in every process: it is not asked again
  std::map<std::string, std::int64_t> turns;
  for (const Event& event : bench.events("turn_measured")) {
    const bool is_refused =
        event.payload["problem"].get<std::string>().find("Sq=32") != std::string::npos;
    ++turns[subject_name(event) + (is_refused ? " refused" : " taken")];
  }
  CHECK(turns["torch_cpu_sdpa refused"] == 0);
  CHECK(turns["torch_cpu_sdpa taken"] > 0);
  CHECK(2 * turns["torch_cpu_sdpa taken"] == turns["cpu_unfused taken"]);  // of two processes
  CHECK(turns["cpu_unfused refused"] == turns["cpu_unfused taken"]);
  std::set<std::string> plans;
  for (const Event& event : bench.events("comparison_made")) {
    const Json& made = event.payload;
    if (made["problem"].is_null()) continue;
    const bool is_refused = made["problem"].get<std::string>().find("Sq=32") != std::string::npos;
    INFO(made.dump());
    CHECK(made["speedup"].is_null() == is_refused);
    CHECK((made["reason"] == "this library does not take the problem") == is_refused);
    if (is_refused) plans.insert(made["plan"].get<std::string>());
  }
  CHECK(plans == std::set<std::string>{"hot", "cold", "eager"});
}

TEST_CASE("only a rival that takes every problem has a figure over the suite",
          "[engine][session]") {
  RivalBench bench;
  FakeSubject some = Bench::with_time(50);
  some.takes = [](const Problem& problem) { return problem.Sq != 32; };
  bench.worker.subjects["cpu_online"] = some;
  const Json opened =
      bench.open({{"problem", k_two_problems}, {"rivals", {"cpu_online", "torch_cpu_sdpa"}}});
  REQUIRE(opened["rivals"] == Json{"cpu_online", "torch_cpu_sdpa"});
  CHECK(bench.totals() == std::set<std::string>{"baseline torch_cpu_sdpa"});
  CHECK(bench.iterate()["outcome"] == "win");
  CHECK(bench.totals() ==
        std::set<std::string>{"baseline torch_cpu_sdpa", "confirmation torch_cpu_sdpa"});
  // The other has its figures on the problem that it takes.
  std::set<std::string> problems;
  for (const Event& event : bench.events("comparison_made")) {
    if (event.payload["against"] == "cpu_online") problems.insert(event.payload["problem"]);
  }
  CHECK(problems == std::set{to_text(*parse_problem("B=1 Hq=2 Sq=48 D=16 f32"))});
}

TEST_CASE("held-out problems are none that a rival does not take", "[engine][session]") {
  RivalBench bench;
  bench.open_two();
  CHECK(bench.iterate()["outcome"] == "win");
  CHECK(bench.totals() ==
        std::set<std::string>{"baseline torch_cpu_sdpa", "confirmation torch_cpu_sdpa"});
}
