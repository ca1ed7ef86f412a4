// SPDX-License-Identifier: MIT
// Tunes that a machine or a user stops: what is asked again, and what continues.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.hpp"
#include "tune_bench.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::variant;
using testing::FakeSubject;
using testing::k_best;
using testing::plant_bowl;
using testing::plant_four;
using testing::TuneBench;

TEST_CASE("a failure of the machine is asked again before the strategy hears of it",
          "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.open();
  // In the middle of the second or third configuration.
  bench.worker.dies_at_request = static_cast<std::int64_t>(bench.worker.requests.size()) + 14;
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(bench.workers_started == 2);
  CHECK(answer["outcome"] == "win");
  CHECK(answer["tune"]["valid"] == 4);
  for (const Event& event : bench.events("evaluation")) {
    CHECK(event.payload["outcome"] != "environment");
  }
}

TEST_CASE("a machine that keeps failing ends the search, and nothing is held against the variant",
          "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  bench.open();
  bench.worker.verb_failures[protocol::Verb::load] =
      Failure{Invalidity::environment, "no memory", ""};
  const Json answer = bench.tune();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "environment");
  CHECK(bench.events("evaluation").size() == 3);
  bench.worker.verb_failures.clear();
  CHECK(bench.tune()["configuration"] == k_best);
}

TEST_CASE("a stopped tune goes on at the first missing evaluation and repeats none",
          "[engine][tune]") {
  for (const char* strategy : {"random", "hill_climb", "racing"}) {
    const Json args{{"strategy", strategy}, {"seed", 3}};
    TuneBench whole;
    plant_four(whole);
    whole.open();
    const Json expected = whole.tune(args);
    const auto all = whole.asked();
    REQUIRE(all.size() >= 4);
    for (std::size_t k = 1; k <= all.size(); ++k) {
      INFO(strategy << ", stopped before evaluation " << k);
      TuneBench bench;
      plant_four(bench);
      bench.open();
      bench.stop_before = static_cast<std::int64_t>(k);
      const auto stopped = bench.try_tune(args);
      REQUIRE_FALSE(stopped.ok());
      CHECK(stopped.error().code == ErrorCode::canceled);
      const auto before = bench.asked();
      CHECK(before.size() == k - 1);
      // Every other time the process dies instead of pausing in order.
      if (k % 2 == 0) REQUIRE(bench.engine->pause("stopped by a test").ok());
      bench.stop = false;
      bench.stop_before = 0;
      bench.engine.reset();
      bench.engine = bench.make();
      REQUIRE(bench.engine->resume_session(bench.session).ok());
      const Json answer = bench.tune(args);
      CHECK(answer["configuration"] == expected["configuration"]);
      CHECK(answer["outcome"] == "win");
      CHECK(answer["iteration"] == 2);
      CHECK(answer["tune"]["replayed"] == k - 1);
      const auto after = bench.asked();
      std::set<std::string> different(after.begin(), after.end());
      CHECK(different.size() == after.size());  // none was asked twice
      if (std::string(strategy) == "random") CHECK(after == all);
      CHECK(std::equal(before.begin(), before.end(), after.begin()));
    }
  }
}

TEST_CASE("what failed for the machine's sake before a stop is asked again", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.open();
  const Configuration second{{"M0", 1}, {"N0", 2}};
  const FakeSubject healthy = bench.subject(second);
  bench.subject(second).load_failure = Failure{Invalidity::environment, "no memory", ""};
  bench.stop_before = 4;
  REQUIRE_FALSE(bench.try_tune({{"strategy", "exhaustive"}}).ok());
  bench.stop = false;
  bench.stop_before = 0;
  bench.subject(second) = healthy;
  bench.engine.reset();
  bench.engine = bench.make();
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["tune"]["replayed"] == 2);
  CHECK(answer["tune"]["valid"] == 4);
  const auto asked = bench.asked();
  CHECK(std::count(asked.begin(), asked.end(), asked[1]) == 2);
}

TEST_CASE("a finished tune is not joined by the next, nor one of other arguments",
          "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.set_times([](const Configuration&) { return 400.0; });  // nobody wins: the start stays
  bench.open();
  bench.tune({{"strategy", "exhaustive"}});
  CHECK(bench.tune({{"strategy", "exhaustive"}})["tune"]["replayed"] == 0);
  bench.stop_before = 3;
  REQUIRE_FALSE(bench.try_tune({{"seed", 5}}).ok());
  REQUIRE(bench.engine->pause("stopped by a test").ok());
  bench.stop = false;
  bench.stop_before = 0;
  REQUIRE(bench.engine->resume_session(bench.session).ok());
  CHECK(bench.tune({{"seed", 6}})["tune"]["replayed"] == 0);
  CHECK(bench.tune({{"seed", 5}})["tune"]["replayed"] == 2);
}

// The verdict that each configuration of a tune gets, and that a screening alone gains nothing.

using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;

namespace {

std::vector<std::string> proofs(const TuneBench& bench) {
  std::vector<std::string> words;
  for (const Event& event : bench.events("evaluation")) {
    words.push_back(event.payload["proof"].get<std::string>());
  }
  return words;
}

/// Verdict events of that extent for a subject, in the log's order.
std::vector<Event> verdicts(const TuneBench& bench, const std::string& label,
                            const std::string& proof) {
  std::vector<Event> found;
  for (Event& event : bench.events("verdict_given")) {
    const bool fits = event.payload["subject"] == label && event.payload["proof"] == proof;
    if (fits) found.push_back(std::move(event));
  }
  return found;
}

}  // namespace

TEST_CASE("a search screens, and judges wholly whom others are compared with or who is confirmed",
          "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  // In order: the first, slower, faster, slower.
  bench.set_times([](const Configuration& c) {
    return c.at("M0") == 2 && c.at("N0") == 1 ? 50.0 : c.at("N0") == 2 ? 300.0 : 100.0;
  });
  bench.open();
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["outcome"] == "win");
  CHECK(proofs(bench) == std::vector<std::string>{"whole", "screening", "whole", "screening"});
  CHECK(answer["tune"]["screened"] == 2);
  CHECK(answer["tune"]["retracted"] == 0);
  const std::string winner = bench.label_of({{"M0", 2}, {"N0", 1}});
  const std::string slow = bench.label_of({{"M0", 1}, {"N0", 2}});
  CHECK_FALSE(verdicts(bench, winner, "screening").empty());
  CHECK_FALSE(verdicts(bench, slow, "screening").empty());
  CHECK(verdicts(bench, slow, "whole").empty());
  // Before the answer that makes it the best, not only before the confirmation.
  const auto whole = verdicts(bench, winner, "whole");
  REQUIRE_FALSE(whole.empty());
  CHECK(whole.back().seq < bench.events("evaluation")[2].seq);
  // A screened output is judged on a few blocks, and no turn came before a verdict of its subject.
  for (const auto& request : bench.worker.requests) {
    if (request.verb == protocol::Verb::run) CHECK(request.args["max_blocks"] == 8);
  }
  for (const Event& turn : bench.events("turn_measured")) {
    const std::string label = turn.payload["subject"];
    if (turn.payload["phase"] != "tune") continue;
    const auto screened = verdicts(bench, label, "screening");
    const auto judged = screened.empty() ? verdicts(bench, label, "whole") : screened;
    REQUIRE_FALSE(judged.empty());
    CHECK(judged.front().seq < turn.seq);
  }
}

TEST_CASE("launches of configurations that are only searched are not logged", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  for (auto& [label, subject] : bench.worker.subjects) {
    subject.launches = {{.kernel = "k", .grid = {4, 1, 1}, .block = {128, 1, 1}}};
  }
  bench.open();
  bench.tune({{"strategy", "exhaustive"}});
  std::set<std::string> searched, confirmed, logged;
  for (const Event& turn : bench.events("turn_measured")) {
    (turn.payload["phase"] == "tune" ? searched : confirmed).insert(turn.payload["subject"]);
  }
  for (const Event& event : bench.events("launches_recorded")) {
    CHECK(logged.insert(event.payload["subject"]).second);
  }
  CHECK(logged == confirmed);
  CHECK(searched.size() > confirmed.size());
}

TEST_CASE("who is behind after a glance has no calls on fresh inputs", "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  bench.set_times([](const Configuration& c) { return c.at("M0") == 2 ? 50.0 : 300.0; });
  bench.open();
  const std::size_t before = bench.worker.requests.size();
  bench.tune({{"strategy", "exhaustive"}, {"evaluations", 3}});
  std::vector<bool> fresh;
  for (std::size_t i = before; i < bench.worker.requests.size(); ++i) {
    const auto& request = bench.worker.requests[i];
    if (request.verb == protocol::Verb::turn) fresh.push_back(request.args["fresh_calls"]);
  }
  // The first configuration, which others are compared with; a glance at a slow one and the one
  // beside it; a glance at a fast one, which goes on.
  REQUIRE(fresh.size() > 8);
  CHECK(std::count(fresh.begin(), fresh.end(), false) == 4);
  CHECK(fresh.front());
  CHECK(std::all_of(fresh.end() - 4, fresh.end(), [](bool is_asked) { return is_asked; }));
}

TEST_CASE("what passes its screening alone never leads and is never confirmed", "[engine][tune]") {
  const Configuration cheat{{"M0", 4}, {"N0", 1}};
  for (const char* strategy : {"exhaustive", "random", "hill_climb", "racing"}) {
    for (const bool is_clear : {true, false}) {
      INFO(strategy << (is_clear ? ", clearly faster" : ", faster by estimate only"));
      TuneBench bench;
      plant_bowl(bench);
      bench.subject(cheat) = TuneBench::with_time(is_clear ? 10 : 49.99);
      bench.subject(cheat).fails_wholly = true;
      bench.open();
      const Json answer = bench.tune({{"strategy", strategy}});
      CHECK(answer["outcome"] == "win");
      CHECK(answer["configuration"] == k_best);
      CHECK(answer["incumbent"] == bench.label_of({{"M0", 4}, {"N0", 2}}));
      for (const Event& turn : bench.events("turn_measured")) {
        if (turn.payload["phase"] != "confirmation") continue;
        CHECK(turn.payload["subject"] != bench.label_of(cheat));
      }
      for (const Json& row : answer["evaluations"]) {
        if (row["configuration"] == to_json(cheat)) CHECK(row["outcome"] != "faster");
      }
    }
  }
}

TEST_CASE("what looks best and fails the whole verdict is retracted, the next one confirmed",
          "[engine][tune]") {
  TuneBench bench;
  plant_four(bench);
  // Too close for `faster`, so that the whole verdict comes when the search has ended.
  bench.set_times([](const Configuration& c) { return c.at("M0") == 2 ? 99.9 : 100.0; });
  const Configuration cheat{{"M0", 2}, {"N0", 1}};
  for (auto& [label, subject] : bench.worker.subjects) {
    subject.noise_frac = 0;
    subject.between_instances_frac = label.starts_with("cpu_unfused") ? 0.01 : 0;
  }
  bench.subject(cheat).time_us = [](const Problem&, PlanKind) { return 99.8; };
  bench.subject(cheat).fails_wholly = true;
  bench.open();
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["tune"]["retracted"] == 1);
  CHECK(answer["tune"]["valid"] == 3);
  CHECK(answer["configuration"] == Json({{"M0", 2}, {"N0", 2}}));
  CHECK(answer["outcome"] == "win");
  const auto failed = verdicts(bench, bench.label_of(cheat), "whole");
  REQUIRE_FALSE(failed.empty());
  CHECK(failed.back().payload["outcome"] == "correctness");
  CHECK(answer["evaluations"].back()["outcome"] == "correctness");
}

TEST_CASE("a clean turn in one half of a round is enough beside other load", "[engine][tune]") {
  for (const bool first : {true, false}) {
    INFO((first ? "the first" : "the second") << " half is loaded");
    TuneBench bench;
    plant_four(bench);
    const Configuration slowed{{"M0", 1}, {"N0", 2}};
    FakeSubject& subject = bench.subject(slowed);
    int turns = 0;  // six tries of one place
    subject.time_us = [&](const Problem&, PlanKind) {
      ++turns;
      const bool loaded = first ? turns <= 6 : turns > 1;
      subject.turn_flags.clear();
      if (loaded) subject.turn_flags.emplace_back("foreign_load");
      return 50.0;
    };
    bench.open();
    bench.tune({{"strategy", "exhaustive"}, {"evaluations", 2}});
    const auto answers = bench.events("evaluation");
    REQUIRE(answers.size() == 2);
    CHECK(answers[1].payload["configuration"] == to_json(slowed));
    CHECK(answers[1].payload["outcome"] == "faster");
    CHECK(answers[1].payload["turns"] == 1);
  }
}
