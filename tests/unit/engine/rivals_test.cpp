// SPDX-License-Identifier: MIT
// Rivals of a session: which of them are usable, and on which problems; and the names of the
// kernels that their calls launch on a GPU, once for each problem, in processes that nothing is
// timed in.
#include <cstdio>
#include <set>

#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::session;
using testing::Bench;
using testing::FakeSubject;
using testing::subject_name;

namespace {

constexpr const char* k_rival_problems = "B=1 Hq=1 Sq=32 D=16 f32;B=1 Hq=2 Sq=48 D=16 f32";

std::int64_t turns_of_rival(const Bench& bench, std::int64_t iteration) {
  std::int64_t n = 0;
  for (const Event& event : bench.events("turn_measured")) {
    const bool is_it = event.payload["subject"] == "torch_cpu_sdpa";
    n += is_it && event.payload["iteration"] == iteration ? 1 : 0;
  }
  return n;
}

}  // namespace

TEST_CASE("a rival that fails its verdict never serves as a rival", "[engine][session]") {
  Bench bench;
  FakeSubject wrong;
  wrong.passes = [](const Problem&) { return false; };
  bench.worker.subjects["torch_cpu_sdpa"] = wrong;
  const Json opened = bench.open({{"rivals", {"torch_cpu_sdpa"}}});
  CHECK(opened["rivals"].empty());
  for (const Event& event : bench.events("comparison_made")) {
    CHECK(event.payload["role"] != "rival");
  }
  bool shown_as_failed = false;
  for (const Event& event : bench.events("verdict_given")) {
    shown_as_failed = shown_as_failed || (subject_name(event) == "torch_cpu_sdpa" &&
                                          event.payload["outcome"] == "correctness");
  }
  CHECK(shown_as_failed);
}

TEST_CASE("a rival is left out where it does not take the problem, and only there",
          "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  FakeSubject library = Bench::with_time(50);
  library.takes = [](const Problem& problem) { return problem.Sq != 32; };
  bench.worker.subjects["torch_cpu_sdpa"] = library;
  FakeSubject none = Bench::with_time(50);
  none.takes = [](const Problem&) { return false; };
  bench.worker.subjects["cpu_online"] = none;
  const Json opened = bench.open({{"problem", "B=1 Hq=1 Sq=32 D=16 f32;B=1 Hq=2 Sq=48 D=16 f32"},
                                  {"rivals", {"torch_cpu_sdpa", "cpu_online"}}});
  CHECK(opened["rivals"] == Json{"torch_cpu_sdpa"});
  const auto timed_by_rival = [&bench] {
    std::set<std::string> problems;
    for (const Event& event : bench.events("turn_measured")) {
      if (subject_name(event) == "torch_cpu_sdpa") {
        problems.insert(event.payload["problem"].get<std::string>().substr(0, 18));
      }
    }
    return problems;
  };
  CHECK(timed_by_rival() == std::set<std::string>{"B=1 Hq=2 Hkv=2 Sq="});
  for (const Json& row : opened["baseline"]) {
    const bool is_taken = row["problem"].get<std::string>().find("Sq=48") != std::string::npos;
    CHECK(row["rivals_us"].contains("torch_cpu_sdpa") == is_taken);
  }
  bench.restart();  // another process knows it from the log
  bench.iterate();
  CHECK(timed_by_rival() == std::set<std::string>{"B=1 Hq=2 Hkv=2 Sq="});
  bench.call("close", {{"reason", "test"}}, bench.session);
  const std::string page =
      bench.call("report", {{"kind", "full"}}, bench.session)["text"].get<std::string>();
  CHECK(page.find("It does not take 1 problem") != std::string::npos);
  CHECK(page.find("takes no problem of this session") != std::string::npos);
  CHECK(page.find("**fail**") == std::string::npos);
  CHECK(page.find("| not taken ") != std::string::npos);
  CHECK(page.find("pass, 1 not taken") != std::string::npos);
  // Refusals are no verdicts.
  const std::size_t sentence = page.find(" verdicts passed");
  REQUIRE(sentence != std::string::npos);
  const std::string counts =
      page.substr(page.rfind(' ', page.rfind(" of ", sentence) - 1) + 1,
                  sentence - page.rfind(' ', page.rfind(" of ", sentence) - 1));
  std::int64_t passed = 0, all = 0;
  REQUIRE(std::sscanf(counts.c_str(), "%ld of %ld", &passed, &all) == 2);
  CHECK(passed == all);
}

TEST_CASE("a rival that passes is measured beside start and winner", "[engine][session]") {
  Bench bench;
  bench.worker.subjects["torch_cpu_sdpa"] = Bench::with_time(50);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  CHECK(bench.open({{"rivals", {"torch_cpu_sdpa"}}})["rivals"] == Json{"torch_cpu_sdpa"});
  bench.iterate();
  double against_rival = 0;
  for (const Event& event : bench.events("comparison_made")) {
    if (event.payload["role"] == "rival" && event.payload["phase"] == "confirmation" &&
        event.payload["plan"] == "hot") {
      against_rival = event.payload["speedup"].get<double>();
    }
  }
  CHECK(against_rival == Approx(50.0 / 80.0).epsilon(0.02));
}

TEST_CASE("a fault of the machine in an abandoned baseline does not cost the rival",
          "[engine][session]") {
  Bench bench;
  const Failure busy{Invalidity::environment, "the machine is busy", ""};
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  bench.worker.subjects["torch_cpu_sdpa"] = Bench::with_time(50);
  bench.worker.subjects["torch_cpu_sdpa"].verdict_failure = busy;
  bench.worker.subjects["cpu_unfused"].turn_failure = busy;
  const auto opened = bench.engine->call("open",
                                         {{"start", "cpu_unfused"},
                                          {"rivals", {"torch_cpu_sdpa"}},
                                          {"effort", "quick"},
                                          {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}},
                                         bench.session);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::environment);
  bool was_blamed_on_the_machine = false;
  for (const Event& event : bench.events("verdict_given")) {
    was_blamed_on_the_machine =
        was_blamed_on_the_machine ||
        (event.payload["subject"] == "torch_cpu_sdpa" && event.payload["outcome"] == "environment");
  }
  REQUIRE(was_blamed_on_the_machine);

  bench.worker.subjects["torch_cpu_sdpa"].verdict_failure.reset();
  bench.worker.subjects["cpu_unfused"].turn_failure.reset();
  bench.restart();
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  CHECK(turns_of_rival(bench, 1) > 0);
  bench.restart();
  CHECK(bench.iterate()["iteration"] == 2);
  CHECK(turns_of_rival(bench, 2) > 0);
}

TEST_CASE("a rival that the machine failed between two verdicts is not timed unjudged later",
          "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  FakeSubject& rival = bench.worker.subjects["torch_cpu_sdpa"];
  rival.takes = [&rival](const Problem&) {
    rival.verdict_failure = Failure{Invalidity::environment, "the machine is busy", ""};
    return true;  // the first problem; the next one meets the failure
  };
  const Json opened = bench.call("open",
                                 {{"start", "cpu_unfused"},
                                  {"effort", "quick"},
                                  {"problem", k_rival_problems}},  // the default rivals
                                 bench.session);
  CHECK(opened["rivals"].empty());
  rival = Bench::with_time(50);
  bench.restart();
  CHECK(bench.iterate()["outcome"] == "win");
  CHECK(turns_of_rival(bench, 1) == 0);
}

TEST_CASE(
    "a rival asked for by name that the machine cannot run ends the baseline, and resume "
    "measures it again",
    "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  FakeSubject& rival = bench.worker.subjects["torch_cpu_sdpa"];
  rival.verdict_failure = Failure{Invalidity::environment, "No module named 'torch'", ""};
  const auto opened = bench.engine->call("open",
                                         {{"start", "cpu_unfused"},
                                          {"effort", "quick"},
                                          {"problem", k_rival_problems},
                                          {"rivals", {"torch_cpu_sdpa"}}},
                                         bench.session);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::environment);
  const std::string message = opened.error().message();
  CHECK(message.find("torch_cpu_sdpa") != std::string::npos);
  CHECK(message.find("No module named 'torch'") != std::string::npos);
  CHECK(message.find("resume") != std::string::npos);
  CHECK(bench.worker.count(protocol::Verb::turn) == 0);  // nothing was timed beside nobody
  rival = Bench::with_time(50);
  bench.restart();
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  bench.iterate();
  CHECK(bench.events("noise_floor_measured").size() > 0);
  CHECK(turns_of_rival(bench, 1) > 0);
}

TEST_CASE("a rival that fails as a candidate stays a rival", "[engine][session]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  FakeSubject rival = Bench::with_time(50);
  rival.passes = [](const Problem& problem) { return problem.Sq % 8 == 0; };  // some drawn ones
  bench.worker.subjects["torch_cpu_sdpa"] = rival;
  CHECK(bench.open({{"rivals", {"torch_cpu_sdpa"}}})["rivals"] == Json{"torch_cpu_sdpa"});
  CHECK(bench.iterate({{"variant", "torch_cpu_sdpa"}})["invalidity"] == "correctness");
  bench.restart();
  CHECK(bench.iterate()["outcome"] == "win");
  CHECK(turns_of_rival(bench, 2) > 0);
}

namespace {

constexpr const char* k_problems = "B=1 Hq=4 Sq=128 D=64 f16;B=2 Hq=4 Sq=1 Skv=128 D=64 f16";

struct NamesBench : Bench {
  NamesBench() {
    play_gpu();
    worker.subjects["torch_flash"].profile = protocol::ProfileResult{
        true, "", {{"launches", Json::array({{{"kernel", "flash_fwd"}}})}, {"launched", 1}}};
  }
  Json open_with(const std::vector<std::string>& rivals) {
    return call("open",
                {{"start", "triton_flash"},
                 {"problem", k_problems},
                 {"rivals", rivals},
                 {"effort", "quick"}},
                session);
  }
};

}  // namespace

TEST_CASE("the baseline names the kernels of each rival on each problem",
          "[engine][kernel_names]") {
  NamesBench bench;
  bench.open_with({"torch_flash", "torch_math"});
  const auto taken = bench.events("profile_taken");
  REQUIRE(taken.size() == 4);
  for (const Event& event : taken) {
    CHECK(event.payload["tool"] == "torch.profiler");
    CHECK(event.payload["iteration"] == 0);
    const bool is_flash = event.payload["subject"] == "torch_flash";
    CHECK(event.payload["available"] == is_flash);
    CHECK(event.payload["records"].contains("launches") == is_flash);
    CHECK(event.payload["reason"].get<std::string>().empty() == is_flash);
  }
  // After its verdict, before any turn, and in a process that no turn has.
  std::set<std::int64_t> looked_into;
  bool timed = false;
  for (const protocol::Request& request : bench.worker.requests) {
    timed = timed || request.verb == protocol::Verb::turn;
    if (request.verb == protocol::Verb::profile) {
      CHECK_FALSE(timed);
      looked_into.insert(request.args["handle"].get<std::int64_t>());
    }
    if (request.verb == protocol::Verb::turn || request.verb == protocol::Verb::verdict) {
      CHECK_FALSE(looked_into.contains(request.args["handle"].get<std::int64_t>()));
    }
  }
  CHECK(looked_into.size() == 2);
}

TEST_CASE("a rival whose kernels cannot be named is a rival all the same",
          "[engine][kernel_names]") {
  NamesBench bench;
  bench.worker.subjects["torch_flash"].profile =
      Failure{Invalidity::timeout, "it did not answer before the deadline", ""};
  const Json rows = bench.open_with({"torch_flash"})["baseline"];
  REQUIRE_FALSE(rows.empty());
  for (const Json& row : rows) CHECK(row["rivals_us"]["torch_flash"] > 0);
  const auto taken = bench.events("profile_taken");
  REQUIRE(taken.size() == 1);  // the process is gone: the second problem is not asked for
  CHECK(taken[0].payload["available"] == false);
  CHECK(taken[0].payload["reason"] == "it did not answer before the deadline");
}

TEST_CASE("a Python variant's profile names its kernels, a rival on the CPU has none",
          "[engine][kernel_names]") {
  NamesBench bench;
  bench.open_with({"none"});
  CHECK(bench.events("profile_taken").empty());
  const Json answer = bench.call("profile", {{"variant", "torch_flash"}}, bench.session);
  CHECK(answer["taken"] == true);
  CHECK(answer["problems"][0]["launches"][0]["kernel"] == "flash_fwd");
  CHECK(bench.events("profile_taken").at(0).payload["tool"] == "torch.profiler");
  Bench cpu;
  cpu.open({{"rivals", {"torch_cpu_sdpa"}}});
  CHECK(cpu.worker.count(protocol::Verb::profile) == 0);
}
