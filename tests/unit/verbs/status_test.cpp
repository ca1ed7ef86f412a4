// SPDX-License-Identifier: MIT
// `status` and `brief` say what came of a session, by its outcome.
#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"
#include "verbs/brief_facts.hpp"

using namespace wb;
using testing::Bench;

namespace {

Json of_kept(const Bench& bench, std::string_view verb, const char* session) {
  auto answer = bench.engine->call(verb, Json::object(),
                                   source_dir() / "sessions" / (std::string(session) + ".tar.gz"));
  if (!answer.ok()) FAIL(answer.error().message());
  return *answer;
}

bool tells_in(const Json& text, const std::string& words) {
  INFO(text.get<std::string>());
  return text.get<std::string>().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a session without figures has a status that says so", "[engine][status]") {
  Bench bench;
  bench.open();
  const Json status = bench.call("status", Json::object(), bench.session);
  CHECK(status["outcome"] == "only the start is measured, beside no rival");
  CHECK(tells_in(status["advice"], "Run iterations"));
  CHECK(tells_in(status["text"], "\nadvice     Run iterations"));
}

TEST_CASE("iterations are counted after the baseline, in every answer alike", "[engine][status]") {
  Bench bench;
  for (const auto& [name, count] : {std::pair{"ladder", 8}, std::pair{"n6-baseline", 4}}) {
    const fs::path kept = source_dir() / "sessions" / (std::string(name) + ".tar.gz");
    const Json status = bench.call("status", Json::object(), kept);
    CHECK(status["iterations"] == count);
    const std::string closed = std::to_string(count) + " closed, ";
    CHECK(tells_in(status["text"], "iterations " + closed));
    CHECK(tells_in(bench.call("report", Json::object(), kept)["text"],
                   std::to_string(count) + " iterations closed after the baseline"));
    CHECK(tells_in(bench.call("report", {{"kind", "full"}}, kept)["text"],
                   std::to_string(count) + " iterations: "));
  }
}

TEST_CASE("a win that is behind its rival is developed further", "[engine][status]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.worker.subjects["torch_cpu_sdpa"] = Bench::with_time(90);
  bench.open({{"rivals", {"torch_cpu_sdpa"}}});
  bench.iterate();
  const Json status = bench.call("status", Json::object(), bench.session);
  CHECK(tells_in(status["outcome"], "use torch_cpu_sdpa on 1; the best own choice is ahead of "));
  CHECK(tells_in(status["outcome"], "ahead of torch_cpu_sdpa on 0 of 1, behind on 1, 0."));
  CHECK(tells_in(status["advice"], "Use torch_cpu_sdpa on "));
  CHECK(tells_in(status["advice"], " develop cpu_tiled@"));
  CHECK(tells_in(status["text"], "\nlost       Slower than a rival: "));
}

TEST_CASE("status and brief of the kept sessions follow from all their measurements",
          "[engine][status]") {
  const Bench bench;
  const Json ladder = of_kept(bench, "status", "ladder");
  CHECK(tells_in(ladder["outcome"], "ahead of the fastest rival on 11 of 11, 1.85x"));
  const Json n6 = of_kept(bench, "status", "n6-baseline");
  CHECK(tells_in(n6["text"], "alone is slower than the start: n6_B8H4 0.88x"));
  CHECK(tells_in(n6["text"],
                 "\nadvice     Use torch_flash on 8 problems and torch_default on n6_S4, "));
  const Json brief = of_kept(bench, "brief", "h200-part2-whole");
  CHECK(tells_in(brief["outcome"], "on 43 of 45"));
  CHECK(tells_in(brief["next"][0], "keep torch_default on B32_H8_S512_D256_bf16"));
  for (const Json& step : of_kept(bench, "brief", "ladder")["next"]) {
    CHECK_FALSE(tells_in(step, "Close the gap"));
  }
}

TEST_CASE("a brief is a text of sentences, no longer than it may be", "[engine][brief]") {
  const Bench bench;
  for (const char* session : {"ladder", "n6-baseline", "hopper-prefill", "h200-part1-whole"}) {
    INFO(session);
    const Json brief = of_kept(bench, "brief", session);
    const std::string text = verbs::text_of_answer(*verbs::find_verb("brief"), brief);
    CHECK(text.size() <= verbs::k_brief_max_bytes);
    CHECK(text.starts_with("Session "));
    CHECK(text.find("\nOutcome: ") != std::string::npos);
    CHECK(text.find("null") == std::string::npos);
    CHECK(text.find("in_flight") == std::string::npos);
  }
}

// get_job and cancel_job called of an engine that holds the session itself.
TEST_CASE("an engine that holds a session tells of that session's job", "[verbs][jobs]") {
  Bench bench;
  bench.open();
  const Json job = bench.call("get_job", Json::object());
  CHECK(job["session"] == bench.session.string());
  CHECK(job["state"] == "idle");  // who asks is no job
  CHECK(job["pid"].is_null());
  CHECK(job["iteration"]["iteration"] == 0);
  const Json canceled = bench.call("cancel_job", Json::object());
  CHECK(canceled["ended"] == true);
  CHECK(bench.engine->session() != nullptr);
}
