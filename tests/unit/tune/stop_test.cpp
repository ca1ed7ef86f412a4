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
