// SPDX-License-Identifier: MIT
#include "engine/recorded_calls.hpp"
#include "core/json.hpp"

#include "support/catch.hpp"
#include "support/fake_clock.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::session;

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
