// SPDX-License-Identifier: MIT
// `diff`: ratios to a shared rival decide, never times; what changed around them is listed.
#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;

namespace {

constexpr const char* k_rival = "torch_cpu_sdpa";

/// A whole session: start at 200 us, an iteration at `tiled_us`, the rival at `rival_us`.
fs::path run_session(Bench& bench, const std::string& name, double tiled_us, double rival_us,
                     Json args = Json::object()) {
  bench.restart();
  bench.session = bench.folder.path() / name;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(4 * rival_us);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(tiled_us);
  bench.worker.subjects[k_rival] = Bench::with_time(rival_us);
  if (!args.contains("rivals")) args["rivals"] = {k_rival};
  bench.open(args);
  CHECK(bench.iterate()["outcome"] == "win");
  bench.restart();
  return bench.session;
}

Json diff(Bench& bench, const fs::path& before, const fs::path& after) {
  const Json answer = bench.call("diff", {{"before", before.string()}, {"after", after.string()}});
  UNSCOPED_INFO(answer["text"].get<std::string>());
  return answer;
}

bool has_change(const Json& answer, const std::string& what) {
  for (const Json& change : answer["changes"]) {
    if (change["what"] == what) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a better ratio is better, the other way round it is a regression", "[engine][diff]") {
  Bench bench;
  const fs::path slow = run_session(bench, "slow", 80, 50),
                 fast = run_session(bench, "fast", 60, 50);
  const auto before = Bench::snapshot(bench.folder.path());
  const Json better = diff(bench, slow, fast);
  CHECK(better["outcome"] == "better");
  CHECK(better["regressions"] == 0);
  CHECK(better["changes"].empty());
  REQUIRE(better["rivals"].size() == 1);
  CHECK(better["rivals"][0]["suite"]["change"].get<double>() == Approx(80.0 / 60.0).epsilon(0.02));
  CHECK(better["rivals"][0]["problems"].size() == 1);
  const Json worse = diff(bench, fast, slow);
  CHECK(worse["outcome"] == "worse");
  CHECK(worse["regressions"] == 1);
  CHECK(Bench::snapshot(bench.folder.path()) == before);
}

TEST_CASE("a machine that is twice as slow changes no ratio", "[engine][diff]") {
  Bench bench;
  const fs::path here = run_session(bench, "here", 80, 50);
  bench.worker.hello_result.device.name = "Slow CPU";
  bench.worker.hello_result.device.id = "cpu:slow:0-3";
  const fs::path there = run_session(bench, "there", 160, 100);
  const Json answer = diff(bench, here, there);
  CHECK(answer["outcome"] != "worse");
  CHECK(answer["outcome"] != "better");
  CHECK(answer["rivals"][0]["suite"]["change"].get<double>() == Approx(1.0).epsilon(0.02));
  CHECK(has_change(answer, "device"));
  CHECK(has_change(answer, "cpu set"));
  CHECK_FALSE(has_change(answer, "compiler"));
}

TEST_CASE("without a shared rival nothing is compared, and the message says what to do",
          "[engine][diff]") {
  Bench bench;
  const fs::path with = run_session(bench, "with", 80, 50);
  const fs::path without = run_session(bench, "without", 40, 50, {{"rivals", {"none"}}});
  const Json answer = diff(bench, with, without);
  CHECK(answer["outcome"] == "not_comparable");
  CHECK(answer["rivals"].empty());
  const auto message = answer["message"].get<std::string>();
  CHECK(message.find(k_rival) != std::string::npos);
  CHECK(message.find("--rivals") != std::string::npos);
}

TEST_CASE("a rival whose wrapper changed is the same while its versions are", "[engine][diff]") {
  Bench bench;
  const auto kept = [](const char* name) {
    return source_dir() / "sessions" / (std::string(name) + ".tar.gz");
  };
  const Json answer = diff(bench, kept("h200-part1"), kept("h200-part1-whole"));
  CHECK(has_change(answer, "sources of rival torch_default"));
  CHECK_FALSE(has_change(answer, "rival torch_default"));
  REQUIRE(answer["rivals"].size() == 1);
  CHECK(answer["rivals"][0]["rival"] == "torch_default");
  REQUIRE(answer["rivals"][0]["problems"].size() == 1);
  CHECK(answer["rivals"][0]["problems"][0]["change"].is_number());
  CHECK(answer["outcome"] != "not_comparable");
  const auto message = answer["message"].get<std::string>();
  CHECK(message.find("torch_default is called by other sources") != std::string::npos);
  CHECK(message.find("torch 2.11.0+cu130") != std::string::npos);
}

TEST_CASE("a rival that is a kernel of its own is another one when its sources change",
          "[engine][diff]") {
  Bench bench;
  const fs::path own = bench.folder.path() / "own";
  fs::create_directories(own / "kernels");
  fs::copy(source_dir() / "kernels" / "cpu_splitkv", own / "kernels" / "cpu_splitkv");
  bench.roots.insert(bench.roots.begin(), own);
  bench.worker.subjects["cpu_splitkv"] = Bench::with_time(50);
  const fs::path one = run_session(bench, "one", 80, 50, {{"rivals", {"cpu_splitkv"}}});
  const fs::path source = own / "kernels" / "cpu_splitkv" / "kernel.cpp";
  const std::string text = bench.file_system.read(source, 1u << 26).value();
  REQUIRE(bench.file_system.write_atomic(source, text + "\n// edited\n", Durability::none).ok());
  const fs::path two = run_session(bench, "two", 60, 50, {{"rivals", {"cpu_splitkv"}}});
  const Json answer = diff(bench, one, two);
  CHECK(answer["outcome"] == "not_comparable");
  CHECK(answer["message"].get<std::string>().find("cpu_splitkv was built from other sources") !=
        std::string::npos);
}

TEST_CASE("suite and effort that changed are named; shared problems are still compared",
          "[engine][diff]") {
  Bench bench;
  const char* shared = "B=1 Hq=1 Sq=32 D=16 f32";
  const fs::path one = run_session(bench, "one", 80, 50, {{"problem", shared}});
  const fs::path two = run_session(
      bench, "two", 60, 50,
      {{"problem", std::string(shared) + ";B=1 Hq=1 Sq=64 D=16 f32"}, {"effort", "quick"}});
  const Json answer = diff(bench, one, two);
  CHECK(has_change(answer, "suite"));
  CHECK_FALSE(has_change(answer, "effort"));
  CHECK(answer["rivals"][0]["problems"].size() == 1);
  CHECK(answer["outcome"] == "better");
}

TEST_CASE("a session that is not there is named with both places", "[engine][diff]") {
  Bench bench;
  const auto answer = bench.engine->call("diff", {{"before", "nope"}, {"after", "nope"}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::not_found);
  CHECK(answer.error().message().find("sessions") != std::string::npos);
}

TEST_CASE("a session of an earlier format can be compared with itself", "[engine][diff]") {
  Bench bench;
  const fs::path stored = source_dir() / "tests" / "data" / "session_v1.tar.gz";
  const Json answer = diff(bench, stored, stored);
  CHECK(answer["outcome"] == "not_comparable");  // no rival was measured in it
  CHECK(answer["changes"].empty());
}
