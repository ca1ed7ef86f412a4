// SPDX-License-Identifier: MIT
// The ledger holds the whole of a session: every turn and every build of its log, whichever verb
// made it, is debited before that verb's answer.
#include <map>
#include <vector>

#include "core/json.hpp"
#include "engine_world.hpp"
#include "session/ledger.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::session;
using testing::Bench;
using testing::FakeSubject;

namespace {

/// What a log says of turns and builds, and what its debits say.
struct Account {
  int turns = 0, unpaid_turns = 0, builds = 0, unpaid_builds = 0;
  double timed_s = 0;         ///< of all turns, by their own clock
  double unpaid_timed_s = 0;  ///< of those after the last debit of the device
  double compiled_cpu_s = 0;  ///< of all builds that were not in the cache
  std::map<CostItem, double> debited;
  double turn_parts_s = 0;                  ///< of the device's debits, what they say of turns
  std::vector<std::string> unpaid_answers;  ///< verbs that were answered before they were paid
};

Account account_of(const EventLog& log) {
  Account account;
  std::string verb;
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    const Event event = log.event(seq).value();
    const Json& payload = event.payload;
    if (event.type == "turn_measured") {
      ++account.turns;
      ++account.unpaid_turns;
      account.timed_s += payload["wall_us"].get<double>() / 1e6;
      account.unpaid_timed_s += payload["wall_us"].get<double>() / 1e6;
    } else if (event.type == "variant_built") {
      ++account.builds;
      const double cpu_s = payload["cached"].get<bool>() ? 0.0 : payload["cpu_s"].get<double>();
      account.compiled_cpu_s += cpu_s;
      const Event next = log.event(seq + 1).value();
      const bool is_paid = next.type == "cost_debited" && next.payload["item"] == "compile_cpu" &&
                           next.payload["quantity"].get<double>() == cpu_s;
      account.unpaid_builds += is_paid ? 0 : 1;
    } else if (event.type == "cost_debited") {
      const CostItem item = parse_cost_item(payload["item"].get<std::string>()).value();
      account.debited[item] += payload["quantity"].get<double>();
      if (item != CostItem::device) continue;
      account.unpaid_turns = 0;
      account.unpaid_timed_s = 0;
      if (payload.contains("parts")) account.turn_parts_s += payload["parts"].value("turn", 0.0);
    } else if (event.type == "verb_called") {
      verb = payload["verb"];
    } else if (event.type == "verb_answered" && account.unpaid_turns > 0) {
      account.unpaid_answers.push_back(verb);
    }
  }
  return account;
}

/// The folded ledger says what the events say.
void check_ledger(const SessionView& view, const Account& account) {
  for (const auto& [item, quantity] : account.debited) {
    CHECK(view.ledger.items.at(item).quantity == Approx(quantity));
  }
  CHECK(view.undebited.count == account.unpaid_turns);
  CHECK(view.undebited.timed_s == Approx(account.unpaid_timed_s));
}

Account account_of(const Bench& bench) {
  RealFileSystem files;
  const Session session = Session::open_reader(files, bench.session).value();
  const Account account = account_of(session.log());
  check_ledger(session.view(FoldDepth::full).value(), account);
  check_ledger(session.view(FoldDepth::brief).value(), account);
  return account;
}

Account account_of_kept(const std::string& name) {
  RealFileSystem files;
  const fs::path path = source_dir() / "sessions" / (name + ".tar.gz");
  const Session session = Session::open_reader(files, path).value();
  const Account account = account_of(session.log());
  check_ledger(session.view(FoldDepth::full).value(), account);
  return account;
}

}  // namespace

TEST_CASE("every turn and build of every verb is debited before its answer", "[engine][ledger]") {
  Bench bench;
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(80);
  const std::string incumbent = bench.open()["incumbent"];
  CHECK(account_of(bench).unpaid_turns == 0);
  bench.call("check", {{"variant", "cpu_tiled"}}, bench.session);
  bench.call("measure", {{"variant", "cpu_tiled"}}, bench.session);
  CHECK(bench.events("cost_debited").back().payload["what"] == "measure");
  CHECK(bench.events("cost_debited").back().payload["iteration"].is_null());
  CHECK(bench.events("cost_debited").back().payload["parts"].contains("turn"));
  bench.call("compare", {{"candidate", "cpu_tiled"}, {"against", incumbent}}, bench.session);
  CHECK(bench.events("cost_debited").back().payload["what"] == "compare");
  bench.call("profile", {{"variant", "cpu_tiled"}}, bench.session);
  bench.call("remeasure_floor", Json::object(), bench.session);
  bench.iterate();
  bench.iterate({{"parent", "cpu_unfused"}, {"files", {{"kernel.cpp", "does not compile"}}}});
  const int turns_before = account_of(bench).turns;
  bench.call("close", Json::object(), bench.session);

  const Account account = account_of(bench);
  CHECK(account.unpaid_answers.empty());
  CHECK(account.turns == turns_before);
  CHECK(account.turns > 20);
  CHECK(account.unpaid_turns == 0);
  CHECK(account.builds >= 7);
  CHECK(account.unpaid_builds == 0);
  CHECK(account.compiled_cpu_s > 0);
  CHECK(account.debited.at(CostItem::compile_cpu) == Approx(account.compiled_cpu_s));
  CHECK(account.turn_parts_s > 0);
  CHECK(account.debited.at(CostItem::device) > account.turn_parts_s);  // verdicts and loads, too
}

TEST_CASE("a build that fails costs what its compiler used", "[engine][ledger]") {
  Bench bench;
  bench.toolchain->refused_cpu_s = 0.75;
  bench.open();
  bench.iterate({{"parent", "cpu_unfused"}, {"files", {{"kernel.cpp", "does not compile"}}}});
  CHECK(bench.events("variant_built").back().payload["cpu_s"] == 0.75);
  double debited_s = 0;
  for (const Event& event : bench.events("cost_debited")) {
    if (event.payload["item"] == "compile_cpu")
      debited_s += event.payload["quantity"].get<double>();
  }
  CHECK(debited_s == Approx(account_of(bench).compiled_cpu_s));
  CHECK(debited_s >= 0.75);
}

TEST_CASE("builds made again for a session go to its ledger", "[engine][ledger]") {
  Bench bench;
  bench.open();
  const double before_s = account_of(bench).debited.at(CostItem::compile_cpu);
  bench.restart();
  fs::remove_all(bench.folder.path() / "cache");
  bench.iterate();
  const Account account = account_of(bench);
  CHECK(account.debited.at(CostItem::compile_cpu) > before_s);
  // One of the compilations is the incumbent's, which is no event of its own.
  CHECK(account.debited.at(CostItem::compile_cpu) == Approx(account.compiled_cpu_s + 0.02));
}

TEST_CASE("what a stopped comparison has used is debited at the pause", "[engine][ledger]") {
  Bench bench;
  const std::string incumbent = bench.open()["incumbent"];
  FakeSubject candidate = Bench::with_time(50);
  candidate.time_us = [&bench](const Problem&, measure::PlanKind) {
    bench.stop = true;  // the signal arrives during a turn
    return 50.0;
  };
  bench.worker.subjects["cpu_tiled"] = candidate;
  const auto answer = bench.engine->call(
      "compare", {{"candidate", "cpu_tiled"}, {"against", incumbent}}, bench.session);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::canceled);
  CHECK(account_of(bench).unpaid_turns > 0);
  REQUIRE(bench.engine->pause("stopped by a test").ok());
  CHECK(account_of(bench).unpaid_turns == 0);
  CHECK(bench.events("cost_debited").back().payload["what"] == "interrupted");
}

TEST_CASE("a baseline that fails is debited", "[engine][ledger]") {
  Bench bench;
  FakeSubject wrong;
  wrong.passes = [](const Problem&) { return false; };
  bench.worker.subjects["cpu_unfused"] = wrong;
  const auto opened = bench.engine->call("open",
                                         {{"effort", "quick"},
                                          {"start", "cpu_unfused"},
                                          {"rivals", {"none"}},
                                          {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}},
                                         bench.session);
  REQUIRE_FALSE(opened.ok());
  const auto costs = bench.events("cost_debited");
  REQUIRE_FALSE(costs.empty());
  CHECK(costs.back().payload["item"] == "device");
  CHECK(costs.back().payload["parts"].contains("verdict"));
}

TEST_CASE("a session does not pay for work outside it", "[engine][ledger]") {
  Bench bench;
  const Json problem{{"variant", "cpu_tiled"}, {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}};
  bench.call("profile", problem, {});
  bench.open();
  for (const Event& event : bench.events("cost_debited")) {
    if (event.payload["item"] == "device") CHECK_FALSE(event.payload["parts"].contains("profile"));
  }
}

TEST_CASE("a kept session's debits hold all of its turns and builds", "[engine][ledger]") {
  for (const char* name : {"hopper-prefill-ends", "cpu-prefill-f32"}) {
    CAPTURE(name);
    const Account account = account_of_kept(name);
    CHECK(account.turns > 500);
    CHECK(account.unpaid_turns == 0);
    CHECK(account.unpaid_answers.empty());
    CHECK(account.unpaid_builds == 0);
    CHECK(account.debited.at(CostItem::compile_cpu) == Approx(account.compiled_cpu_s));
    CHECK(account.turn_parts_s >= account.timed_s);  // a turn has its untimed part, too
    CHECK(account.debited.at(CostItem::device) >= account.turn_parts_s);
  }
}

TEST_CASE("a kept session that debited iterations only says what it left out", "[engine][ledger]") {
  const Account account = account_of_kept("h200-part2-whole");
  CHECK(account.turns == 1420);
  CHECK(account.unpaid_turns == 1350);
  CHECK(account.unpaid_timed_s == Approx(276.9).epsilon(0.001));
  CHECK(account.debited.at(CostItem::device) < account.unpaid_timed_s);
  CHECK(account.unpaid_builds == 0);
}
