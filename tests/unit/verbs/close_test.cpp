// SPDX-License-Identifier: MIT
// `close --measure`: the measurements that open causes wait for are taken within a budget, what is
// left is told with its reason, and the session closes in any case.
#include <algorithm>

#include "core/json.hpp"
#include "unit/engine/engine_world.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/table.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::verbs;
using testing::Bench;

namespace {

/// A start whose time goes with the keys and whose launch no rule knows.
struct ClosingBench : Bench {
  ClosingBench() {
    testing::FakeSubject walks = with_time(200);
    walks.time_us = [](const Problem& problem, PlanKind) {
      return 6.0 * static_cast<double>(problem.Skv);
    };
    worker.subjects["cpu_unfused"] = walks;
  }
  Json end(Json args) { return call("close", args, session); }
  [[nodiscard]] std::size_t turns() const { return events("turn_measured").size(); }
  /// The causes that were decided last.
  Json cause(const std::string& id) const {
    const auto decided = events("causes_decided");
    REQUIRE_FALSE(decided.empty());
    for (const Json& one : decided.back().payload["causes"]) {
      if (one["cause"] == id) return one;
    }
    throw std::logic_error("no cause " + id);
  }
};

const Json* row_of_probe(const Json& closed, const std::string& probe) {
  for (const Json& row : closed["measured"]) {
    if (row["probe"] == probe) return &row;
  }
  return nullptr;
}

bool is_closed(const Bench& bench) {
  return bench.events("session_closed").size() == 1;
}

}  // namespace

TEST_CASE("without measure nothing is measured at the end", "[engine][close]") {
  ClosingBench bench;
  bench.open();
  const std::size_t before = bench.turns();
  const Json closed = bench.end(Json::object());
  CHECK(closed["measured"].is_null());
  CHECK(bench.turns() == before);
  CHECK(bench.cause("sequential_kv")["state"] == "undecided");
  CHECK(bench.cause("sequential_kv")["decided_by"]["probe"] == "keys");
  CHECK(is_closed(bench));
}

TEST_CASE("what open causes wait for is measured before the end", "[engine][close]") {
  ClosingBench bench;
  bench.open();
  bench.restart();  // as the command does: nothing is built, no worker runs
  const Json closed = bench.end({{"measure", 3600}});
  INFO(closed["measured"].dump());
  const Json* keys = row_of_probe(closed, "keys");
  REQUIRE(keys != nullptr);
  CHECK((*keys)["outcome"] == "measured");
  const auto causes = (*keys)["causes"].get<std::vector<std::string>>();
  CHECK(std::find(causes.begin(), causes.end(), "sequential_kv") != causes.end());
  CHECK(bench.cause("sequential_kv")["state"] == "supported");
  CHECK(bench.cause("sequential_kv")["strength"] == "strong");
  CHECK(bench.cause("sequential_kv")["decided_by"].is_null());
  CHECK(is_closed(bench));
  // Its time on the device is in the ledger.
  bool is_debited = false;
  for (const Event& event : bench.events("cost_debited")) {
    is_debited = is_debited || event.payload["what"] == "diagnose";
  }
  CHECK(is_debited);
}

TEST_CASE("a budget that is used ends the measurements, not the closing", "[engine][close]") {
  ClosingBench bench;
  bench.open();
  const std::size_t before = bench.turns();
  SECTION("none is given") {
    const Json closed = bench.end({{"measure", 0}});
    REQUIRE_FALSE(closed["measured"].empty());
    for (const Json& row : closed["measured"]) {
      CHECK(row["outcome"] == "not_taken");
      CHECK_FALSE(row["message"].get<std::string>().empty());
      CHECK_FALSE(row["causes"].empty());
    }
    const Json* keys = row_of_probe(closed, "keys");
    REQUIRE(keys != nullptr);
    CHECK((*keys)["message"].get<std::string>().find("0 s were given") != std::string::npos);
    CHECK(bench.turns() == before);
  }
  SECTION("the first one uses it") {
    const Json closed = bench.end({{"measure", 1e-9}});
    std::size_t begun = 0;
    for (const Json& row : closed["measured"]) begun += row["outcome"] != "not_taken" ? 1 : 0;
    CHECK(begun == 1);
    CHECK(bench.turns() > before);
    CHECK(closed["measured"].dump().find("are used") != std::string::npos);
  }
  CHECK(is_closed(bench));
}

TEST_CASE("the session's own wall time limits what is taken at its end", "[engine][close]") {
  ClosingBench bench;
  bench.open({{"wall_s", 1e-9}});
  const Json closed = bench.end({{"measure", 3600}});
  const Json* keys = row_of_probe(closed, "keys");
  REQUIRE(keys != nullptr);
  CHECK((*keys)["outcome"] == "not_taken");
  CHECK((*keys)["message"].get<std::string>().find("wall time") != std::string::npos);
  CHECK(is_closed(bench));
}

TEST_CASE("a measurement that fails is told and the session closes", "[engine][close]") {
  ClosingBench bench;
  bench.open();
  bench.worker.subjects["cpu_unfused"].passes = [](const Problem& problem) {
    return problem.Skv <= 32;
  };
  const Json closed = bench.end({{"measure", 3600}});
  REQUIRE(row_of_probe(closed, "keys") != nullptr);
  CHECK((*row_of_probe(closed, "keys"))["outcome"] == "failed");
  CHECK(bench.cause("sequential_kv")["state"] == "undecided");
  CHECK(is_closed(bench));
}

TEST_CASE("the dry run of a playbook answers close with what it would not take", "[verbs][close]") {
  Bench bench;
  FakeEngine fake(*bench.engine, {});
  const auto closed = fake.answer("close", {{"measure", 60}});
  REQUIRE(closed.ok());
  REQUIRE((*closed)["measured"].size() == 2);
  CHECK((*closed)["measured"][1]["outcome"] == "not_taken");
  FakeEngine plain(*bench.engine, {});
  CHECK((*plain.answer("close", Json::object()))["measured"].is_null());
  const auto refused = FakeEngine(*bench.engine, {}).answer("close", {{"measure", -1}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::usage);
}
