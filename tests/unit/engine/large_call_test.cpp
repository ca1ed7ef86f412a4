// SPDX-License-Identifier: MIT
// Data too large for a line of the log: texts are refused before anything is written, source files
// and answers go into blobs and come back whole.
#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::session;
using testing::Bench;

namespace {

constexpr const char* k_playbook = "return {}";

/// A playbook of one session in a fresh process, as far as the engine knows.
void start_playbook(Bench& bench) {
  bench.restart();
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  const auto started =
      bench.engine->start_playbook("p.lua", k_playbook, Json::object(), 1, /*replan=*/false);
  if (!started.ok()) FAIL(started.error().message());
}

}  // namespace

TEST_CASE("a text that no line can hold is refused as an argument, and nothing is written",
          "[engine][large_call]") {
  Bench bench;
  bench.open();
  const auto before = Bench::snapshot(bench.session);
  for (const std::string& text :
       {std::string(20'001, 'x'), std::string(60'000, 'x'), std::string(4000, '\x01'),
        std::string(15'000, '"'), std::string(2u << 20, 'x')}) {
    const auto answer = bench.engine->call("note", {{"text", text}});
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().code == ErrorCode::usage);
    const std::string message = answer.error().message();
    CHECK(message.find("\"text\" is ") != std::string::npos);
    CHECK(message.find("at most 20000 are taken") != std::string::npos);
    CHECK(message.size() < 300);
  }
  CHECK(Bench::snapshot(bench.session) == before);
  CHECK(bench.call("note", {{"text", std::string(20'000, 'x')}})["event"].get<int>() > 0);
}

TEST_CASE("what is not UTF-8 is refused as an argument", "[engine][large_call]") {
  Bench bench;
  bench.open();
  const auto before = Bench::snapshot(bench.session);
  const Json iterate{{"hypothesis", "h"}, {"predicted_speedup", 1.5}};
  Json in_file = iterate, in_name = iterate, in_text = iterate;
  in_file["files"] = {{"kernel.cpp", "// caf\xe9 at night"}};
  in_name["configuration"] = {{"TILE\xff", 1}};
  in_text["hypothesis"] = "\xc3";
  for (const Json& args : {in_file, in_name, in_text}) {
    const auto answer = bench.engine->call("iterate", args);
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().code == ErrorCode::usage);
    CHECK(answer.error().message().find("not UTF-8") != std::string::npos);
  }
  CHECK(Bench::snapshot(bench.session) == before);
  bench.call("note", {{"text", "caf\xc3\xa9 at night"}});
  CHECK(bench.events("note").back().payload["text"] == "caf\xc3\xa9 at night");
}

TEST_CASE("source files larger than a line make an iteration like others", "[engine][large_call]") {
  Bench bench;
  bench.open();
  const std::string source = "int x;\n// " + std::string(200'000, 'y') + "\n";
  const Json args{{"parent", "cpu_unfused"},
                  {"files", {{"kernel.cpp", source}}},
                  {"hypothesis", "long is fast"},
                  {"predicted_speedup", 1.5}};
  const auto first = bench.engine->call("iterate", args, bench.session, "r-1");
  if (!first.ok()) FAIL(first.error().message());
  const Event called = bench.events("verb_called").back();
  CHECK(called.payload["args"].is_null());
  const auto blob =
      bench.engine->session()->read_blob(called.payload["args_blob"].get<std::string>());
  REQUIRE(blob.ok());
  CHECK(Json::parse(*blob)["files"]["kernel.cpp"] == source);
  bench.restart();
  const auto again = bench.engine->call("iterate", args, bench.session, "r-1");
  REQUIRE(again.ok());
  CHECK(*again == *first);
  CHECK(bench.events("iteration_opened").size() == 2);  // with the baseline
}

TEST_CASE("an answer larger than a line is replayed to a playbook as it was",
          "[engine][large_call]") {
  Bench bench;
  bench.open();
  for (int i = 0; i < 90; ++i) {
    bench.call("note", {{"text", "needle " + std::to_string(i) + std::string(290, 'x')}});
  }
  const Json args{{"query", "needle"}, {"limit", 100}};
  start_playbook(bench);
  const auto first = bench.engine->playbook_call("history", args);
  if (!first.ok()) FAIL(first.error().message());
  CHECK(first->dump().size() > 40'000);
  CHECK(bench.events("verb_answered").back().payload.contains("result_blob"));
  const auto events = bench.engine->session()->log().size();
  start_playbook(bench);
  const auto again = bench.engine->playbook_call("history", args);
  REQUIRE(again.ok());
  CHECK(*again == *first);
  CHECK(bench.engine->session()->log().size() == events + 2);  // resumed, started; no new call

  // A blob that was changed is never taken for an answer.
  const auto name = bench.events("verb_answered").back().payload["result_blob"].get<std::string>();
  REQUIRE(
      bench.file_system.write_atomic(bench.session / "blobs" / name, "{}", Durability::none).ok());
  start_playbook(bench);
  const auto damaged = bench.engine->playbook_call("history", args);
  REQUIRE_FALSE(damaged.ok());
  CHECK(damaged.error().code == ErrorCode::damaged);
}
