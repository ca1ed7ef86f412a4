// SPDX-License-Identifier: MIT
// `experience` over recorded sessions, and the candidate of one iteration diagnosed.

#include <cmath>
#include <fstream>

#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"
#include "verbs/decided_causes.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using testing::Bench;

namespace {

/// A start without techniques; `cpu_tiled` wins, `cpu_online` is slower than both.
struct Tried : Bench {
  Tried() {
    worker.subjects["cpu_unfused"] = with_time(200);
    worker.subjects["cpu_tiled"] = with_time(100);
    worker.subjects["cpu_online"] = with_time(400);
    open();
  }
};

const Json* entry(const Json& answer, const std::string& id) {
  for (const Json& one : answer["entries"]) {
    if (one["id"] == id) return &one;
  }
  return nullptr;
}

const Json& found_cause(const Json& answer, const std::string& id) {
  for (const Json& cause : answer["causes"]) {
    if (cause["cause"] == id) return cause;
  }
  throw std::logic_error("no cause " + id);
}

}  // namespace

TEST_CASE("an iteration logs which techniques it adds to its parent", "[engine][experience]") {
  Tried bench;
  REQUIRE(bench.iterate()["outcome"] == "win");
  const auto first = bench.events("iteration_opened").back().payload;
  const auto is_in = [](const Json& list, const char* word) {
    return std::find(list.begin(), list.end(), Json(word)) != list.end();
  };
  CHECK(is_in(first["adds"], "query_tiling"));
  REQUIRE(is_in(first["techniques"], "multi_threading"));
  CHECK_FALSE(is_in(first["adds"], "multi_threading"));  // the start has it
  REQUIRE(bench.iterate({{"variant", "cpu_online"}})["outcome"] == "no_gain");
  const auto second = bench.events("iteration_opened").back().payload;
  for (const Json& word : second["adds"]) {
    INFO(word);
    CHECK(std::find(first["techniques"].begin(), first["techniques"].end(), word) ==
          first["techniques"].end());
  }
  CHECK(second["adds"].size() < second["techniques"].size());
}

TEST_CASE("tries, wins and predictions of techniques are counted over sessions",
          "[engine][experience]") {
  Tried bench;
  const Json answer_of_try = bench.iterate({{"predicted_speedup", 4.0}});
  REQUIRE(answer_of_try["outcome"] == "win");
  CHECK(answer_of_try["mechanism"] == "confirmed");
  CHECK(answer_of_try["size"] == "below");
  const Json logged = bench.events("hypothesis_decided").back().payload;
  CHECK(logged["mechanism"] == "confirmed");
  CHECK(logged["size"] == "below");
  CHECK(logged["size_reason"].get<std::string>().find("predicted 4.000x") != std::string::npos);
  const Json added = bench.events("iteration_opened").back().payload["adds"];
  bench.call("close", Json::object(), bench.session);
  const fs::path folder = bench.session.parent_path();
  std::filesystem::create_directories(folder / "broken");
  std::ofstream(folder / "broken" / "events.jsonl") << "no event\n";
  const Json answer = bench.call("experience", {{"folder", folder.string()}});
  INFO(answer["text"].get<std::string>());
  CHECK(answer["sessions"] == 1);
  CHECK(answer["tries"] == 1);
  CHECK(answer["unknown"] == 0);
  CHECK(answer["mixed"] == 1);
  const Json& never = answer["never_tried"];
  const auto is_never = [&never](const Json& word) {
    return std::find(never.begin(), never.end(), word) != never.end();
  };
  for (const Json& word : added) {
    INFO(word);
    // Without a causal problem these two could do nothing.
    if (word == "causal_load_balance" || word == "masked_block_skip") {
      CHECK(is_never(word));
      continue;
    }
    const Json* row = entry(answer, word);
    REQUIRE(row != nullptr);
    // The step brought several techniques, so it tells of none of them alone.
    CHECK((*row)["tried"] == 0);
    CHECK((*row)["won"] == 0);
    CHECK((*row)["together"] == 1);
    CHECK((*row)["predicted"].is_null());
    CHECK((*row)["calibration"]["count"] == 0);
    CHECK((*row)["where"].empty());
  }
  CHECK(answer["calibration"]["count"] == 1);
  CHECK(answer["calibration"]["share"].is_null());  // one prediction tells nothing
  CHECK(answer["mechanisms"] == Json{{"confirmed", 1}, {"not_confirmed", 0}, {"undecided", 0}});
  CHECK(answer["sizes"] == Json{{"within", 0}, {"above", 0}, {"below", 1}, {"undecided", 0}});
  CHECK(entry(answer, "split_kv") == nullptr);
  CHECK(is_never("split_kv"));
  // Causes are those that the session decided at its end.
  std::int64_t decided = 0;
  for (const Json& one : answer["entries"]) {
    if (one["kind"] == "cause") {
      decided += one["supported"].get<std::int64_t>() + one["refuted"].get<std::int64_t>() +
                 one["undecided"].get<std::int64_t>();
    }
  }
  // One that could not be at work on this device is neither.
  std::int64_t applicable = 0;
  const Json causes = bench.events("causes_decided").back().payload["causes"];
  for (const Json& cause : causes) {
    if (cause["not_applicable"].is_null()) {
      ++applicable;
    } else {
      CHECK(entry(answer, cause["cause"].get<std::string>()) == nullptr);
    }
  }
  CHECK(applicable > 0);
  CHECK(applicable < std::int64_t(causes.size()));
  CHECK(decided == applicable);
  REQUIRE(answer["faults"].size() == 1);
  CHECK(answer["faults"][0]["session"] == "broken");
}

TEST_CASE("kept sessions credit a technique only where it alone changed and could act",
          "[engine][experience]") {
  Bench bench;
  const Json answer = bench.call("experience", {{"folder", (source_dir() / "sessions").string()}});
  INFO(answer["text"].get<std::string>());
  // n6-baseline's iteration 3 names it with MIN_BLOCKS=1; alone it was tried once, without a gain.
  const Json* bounds = entry(answer, "launch_bounds");
  REQUIRE(bounds != nullptr);
  CHECK((*bounds)["tried"] == 1);
  CHECK((*bounds)["won"] == 0);
  CHECK((*bounds)["together"] == 0);
  CHECK((*bounds)["where"][0]["session"] == "from-benchmarks");
  CHECK((*bounds)["where"][0]["iteration"] == 3);
  CHECK((*bounds)["where"][0]["log_sha256"].get<std::string>().size() == 64);
  // from-benchmarks' iteration 1 lists these with their parameters at 0.
  const Json* padding = entry(answer, "bank_conflict_padding");
  REQUIRE(padding != nullptr);
  CHECK((*padding)["tried"] == 1);
  CHECK((*padding)["where"][0]["iteration"] == 2);
  const Json* loads = entry(answer, "vectorized_loads");
  REQUIRE(loads != nullptr);
  CHECK((*loads)["tried"] == 1);
  CHECK((*loads)["measured"].get<double>() == Approx(3.181).epsilon(0.001));
  // No suite of these sessions had a causal problem where they were added.
  const Json& never = answer["never_tried"];
  for (const char* word : {"causal_load_balance", "masked_block_skip"}) {
    CHECK(std::find(never.begin(), never.end(), Json(word)) != never.end());
  }
}

TEST_CASE("a folder without sessions has no experience", "[engine][experience]") {
  Bench bench;
  const auto empty = *TempDirectory::create("wb-empty");
  const auto answer = bench.engine->call("experience", {{"folder", empty.path().string()}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::not_found);
}

TEST_CASE("a candidate that lost is diagnosed by what its own iteration measured",
          "[engine][causes]") {
  Bench bench;
  // The start's time does not grow with the keys; the candidate's does.
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  testing::FakeSubject walks;
  walks.time_us = [](const Problem& problem, PlanKind) {
    return 20.0 * static_cast<double>(problem.Skv);
  };
  bench.worker.subjects["cpu_tiled"] = walks;
  std::string problems;
  for (const char* keys : {"64", "128", "256", "512"}) {
    problems += std::string("B=1 Hq=1 Sq=32 D=16 f32 Skv=") + keys + ";";
  }
  problems.pop_back();
  bench.open({{"problem", problems}});
  REQUIRE(bench.iterate()["outcome"] == "no_gain");
  const auto before = Bench::snapshot(bench.session);
  const Json answer = bench.call("diagnose", {{"iteration", 1}}, bench.session);
  INFO(answer["text"].get<std::string>());
  CHECK(before == Bench::snapshot(bench.session));
  CHECK(answer["subject"].get<std::string>().rfind("cpu_tiled@", 0) == 0);
  CHECK(answer["text"].get<std::string>().find("Iteration 1 ended as no_gain. ") == 0);
  // Its own times decide: the events that are cited are of its iteration.
  const std::int64_t opened = bench.events("iteration_opened").back().seq;
  const Json& walk = found_cause(answer, "sequential_kv");
  REQUIRE(walk["state"] == "supported");
  for (const Json& event : walk["evidence"][0]["events"]) CHECK(event.get<int>() > opened);
  // What explains is supported of it, and not of its parent.
  const Json parent = bench.call("diagnose", {{"iteration", 0}}, bench.session);
  CHECK(parent["subject"].get<std::string>().rfind("cpu_unfused@", 0) == 0);
  std::set<std::string> expected;
  for (const Json& cause : answer["causes"]) {
    const std::string id = cause["cause"];
    if (cause["state"] == "supported" && found_cause(parent, id)["state"] != "supported") {
      expected.insert(id);
    }
  }
  CHECK(expected.contains("sequential_kv"));
  CHECK(answer["explains"].get<std::set<std::string>>() == expected);
}

TEST_CASE("what was never timed, or is no iteration, is not diagnosed", "[engine][causes]") {
  Tried bench;
  bench.worker.subjects["cpu_tiled"].passes = [](const Problem&) { return false; };
  REQUIRE(bench.iterate()["outcome"] == "invalid");
  const auto code_of = [&](const Json& args) {
    const auto answer = bench.engine->call("diagnose", args, bench.session);
    REQUIRE_FALSE(answer.ok());
    return answer.error().code;
  };
  CHECK(code_of({{"iteration", 1}}) == ErrorCode::invalid);
  CHECK(code_of({{"iteration", 7}}) == ErrorCode::not_found);
  CHECK(code_of({{"iteration", 1}, {"measure", true}}) == ErrorCode::usage);
}

TEST_CASE("report takes the kinds of pages, and an iteration for one of them only",
          "[engine][report]") {
  Tried bench;
  REQUIRE(bench.iterate()["outcome"] == "win");
  const auto text = [&](const Json& args) {
    return bench.call("report", args, bench.session)["text"].get<std::string>();
  };
  CHECK(text(Json::object()).find("## What was asked") != std::string::npos);
  CHECK(text({{"kind", "session"}}) == text(Json::object()));
  CHECK(text({{"kind", "full"}}).find("## Objective") != std::string::npos);
  CHECK(text({{"kind", "handover"}}).rfind("# Handover: ", 0) == 0);
  CHECK(text({{"kind", "iteration"}}).rfind("# Iteration 1 of ", 0) == 0);
  CHECK(text({{"kind", "iteration"}, {"iteration", 0}}).rfind("# Iteration 0 of ", 0) == 0);
  const auto wrong = bench.engine->call("report", {{"iteration", 0}}, bench.session);
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::usage);
  const auto absent =
      bench.engine->call("report", {{"kind", "iteration"}, {"iteration", 9}}, bench.session);
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == ErrorCode::not_found);
}
