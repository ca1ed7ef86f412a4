// SPDX-License-Identifier: MIT
// Recorded calls: a playbook is answered from the log, and data too large for a line of the log
// goes into blobs (source files, answers) or is refused before anything is written (texts).
#include "engine/recorded_calls.hpp"
#include "core/json.hpp"
#include "engine_world.hpp"
#include "session/session.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::session;
using testing::Bench;

namespace {

/// A log of recorded calls in a folder of its own, folded as the engine does.
struct Recorded {
  RealFileSystem file_system;
  testing::FakeClock clock;
  TempDirectory folder = *TempDirectory::create("wb-replay");
  EventLog log = *EventLog::create(file_system, clock, folder.path());

  void call(std::int64_t n, const std::string& verb, const Json& args,
            const std::string& caller = "playbook", Json dropped_from = nullptr) {
    REQUIRE(log.append("verb_called", {{"n", n},
                                       {"verb", verb},
                                       {"args", args},
                                       {"args_sha256", arguments_hash(args)},
                                       {"request_id", nullptr},
                                       {"caller", caller},
                                       {"dropped_from", std::move(dropped_from)}})
                .ok());
  }
  void answer(std::int64_t n, const Json& result) {
    REQUIRE(log.append("verb_answered", {{"n", n}, {"result", result}}).ok());
  }
  Replay replay(bool replan) {
    const auto view = fold(log, FoldDepth::full);
    REQUIRE(view.ok());
    auto made = Replay::from_log(log, view->verbs, replan);
    REQUIRE(made.ok());
    return *std::move(made);
  }
};

const Json k_a{{"text", "a"}}, k_b{{"text", "b"}};

}  // namespace

TEST_CASE("matching calls are answered from the log, the next one runs", "[engine][replay]") {
  Recorded recorded;
  recorded.call(1, "note", k_a);
  recorded.answer(1, 11);
  recorded.call(2, "note", k_b);
  recorded.answer(2, 22);
  Replay replay = recorded.replay(false);
  CHECK(replay.pending());
  CHECK(replay_answer(**replay.next("note", k_a)).value() == 11);
  CHECK(replay_answer(**replay.next("note", k_b)).value() == 22);
  CHECK_FALSE(replay.pending());
  CHECK_FALSE(replay.next("note", k_a)->has_value());
}

TEST_CASE("a call in flight at a kill runs again", "[engine][replay]") {
  Recorded recorded;
  recorded.call(1, "note", k_a);
  recorded.answer(1, 11);
  recorded.call(2, "iterate", k_b);  // never answered
  Replay replay = recorded.replay(false);
  CHECK(replay.next("note", k_a)->has_value());
  CHECK_FALSE(replay.next("iterate", k_b)->has_value());
  // The rerun got a new n; the next resume finds its answer and skips the dead call.
  recorded.call(3, "iterate", k_b);
  recorded.answer(3, 33);
  Replay again = recorded.replay(false);
  CHECK(again.next("note", k_a)->has_value());
  CHECK(replay_answer(**again.next("iterate", k_b)).value() == 33);
}

TEST_CASE("a changed call is refused unless replanned", "[engine][replay]") {
  Recorded recorded;
  recorded.call(1, "note", k_a);
  recorded.answer(1, 11);
  recorded.call(2, "note", k_b);
  recorded.answer(2, 22);
  Replay strict = recorded.replay(false);
  const auto refused = strict.next("note", k_b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("--replan") != std::string::npos);
  CHECK_FALSE(recorded.replay(false).next("iterate", k_a).ok());

  Replay replanned = recorded.replay(true);
  CHECK(replanned.next("note", k_a)->has_value());
  CHECK_FALSE(replanned.next("status", k_a)->has_value());
  CHECK(replanned.take_dropped_from() == 2);
  CHECK(replanned.take_dropped_from().is_null());
  // The new plan is what a later resume follows.
  recorded.call(3, "status", k_a, "playbook", 2);
  recorded.answer(3, 33);
  Replay later = recorded.replay(false);
  CHECK(later.next("note", k_a)->has_value());
  CHECK(replay_answer(**later.next("status", k_a)).value() == 33);
}

TEST_CASE("what clients called in between is not the playbook's", "[engine][replay]") {
  Recorded recorded;
  recorded.call(1, "note", k_a);
  recorded.answer(1, 11);
  recorded.call(2, "note", {{"text", "from the command line"}}, "client");
  recorded.answer(2, 22);
  recorded.call(3, "note", k_b);
  recorded.answer(3, 33);
  Replay replay = recorded.replay(false);
  CHECK(replay.next("note", k_a)->has_value());
  CHECK(replay_answer(**replay.next("note", k_b)).value() == 33);
}

TEST_CASE("a recorded error is given again as that error", "[engine][replay]") {
  Recorded recorded;
  recorded.call(1, "note", k_a);
  REQUIRE(
      recorded.log
          .append("verb_answered", {{"n", 1}, {"error", {{"code", "usage"}, {"message", "no"}}}})
          .ok());
  Replay replay = recorded.replay(false);
  const auto answer = replay_answer(**replay.next("note", k_a));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::usage);
}

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
