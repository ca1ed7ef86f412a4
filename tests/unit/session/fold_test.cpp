// SPDX-License-Identifier: MIT
#include "session/fold.hpp"
#include "core/json.hpp"

#include "core/hash.hpp"
#include "measure/prediction.hpp"
#include "session/log_reader.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

/// A log in scratch space that begins with session_opened.
struct LogFixture {
  Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog log = must(EventLog::create(files, clock, scratch.path()));
  LogFixture() { add("session_opened", example_identity()); }
  std::int64_t add(std::string_view type, const Json& payload) {
    return must(log.append(type, payload));
  }
  void open_iteration(int number) {
    add("iteration_opened",
        {{"iteration", number}, {"variant", "v" + std::to_string(number) + "@00000000"}});
  }
  void close_iteration(int number, const char* outcome) {
    add("iteration_closed", {{"iteration", number}, {"outcome", outcome}});
  }
};

SessionView example_view(FoldDepth depth) {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  must(run_example(files, clock, scratch / "s"));
  return must(fold(must(EventLog::open_reader(files, scratch / "s")), depth));
}

}  // namespace

TEST_CASE("a verdict keeps its runs as text, and gives them back as they were", "[session]") {
  const Json given{{"pass", true},
                   {"runs", Json::array({{{"seed", 7}, {"share", 0.1}, {"ok", nullptr}}, Json()})}};
  const VerdictFact verdict(Fact{3, "2026-11-22T10:00:00.000Z", given});
  CHECK(verdict.payload == Json{{"pass", true}});
  CHECK(verdict.runs() == given["runs"]);
  CHECK(verdict.whole().payload.dump() == given.dump());
  CHECK(verdict.whole().seq == 3);
  const VerdictFact without(Fact{4, "", Json{{"pass", false}}});
  CHECK(without.runs().is_null());
  CHECK_FALSE(without.whole().payload.contains("runs"));
}

TEST_CASE("every event type finds its place in the full view", "[session][fold]") {
  const SessionView view = example_view(FoldDepth::full);
  CHECK(view.opened.payload["session"] == "s-example");
  CHECK(view.opened.seq == 1);
  REQUIRE(view.environment);
  CHECK(view.environment->payload["call_overhead_us"] == 0.5);
  REQUIRE(view.playbook);
  CHECK(view.playbook->payload["seed"] == 1);
  CHECK(view.noise_floors.size() == 1);
  CHECK(view.decisions.size() == 1);
  CHECK(view.resumes.size() == 1);
  CHECK(view.recoveries.empty());
  CHECK(view.notes.size() == 1);
  CHECK(view.outside.number == -1);
  CHECK(view.outside.built.size() == 1);
  CHECK(view.outside.notes.empty());
  CHECK(view.status == SessionStatus::closed);
  REQUIRE(view.closed);
  CHECK(view.closed->payload["outcome"] == "win");
  CHECK(view.not_understood == 0);
  CHECK(view.first_t < view.last_t);
  CHECK(view.in_flight() == nullptr);
  CHECK(view.find(7) == nullptr);

  REQUIRE(view.iterations.size() == 3);
  const IterationView& win = *view.find(1);
  CHECK(win.opened.payload["hypothesis"]["predicted_speedup"] == 1.5);
  CHECK(win.built.size() == 1);
  CHECK(win.verdicts.size() == 1);
  CHECK(win.turns.size() == 4);
  CHECK(win.evaluations.size() == 1);
  CHECK(win.comparisons.size() == 1);
  CHECK(win.profiles.size() == 1);
  CHECK(win.findings.size() == 1);
  CHECK(win.costs.size() == 3);
  CHECK(win.notes.size() == 1);
  REQUIRE(win.hypothesis);
  REQUIRE(win.incumbent_changed);
  REQUIRE(win.closed);
  REQUIRE(win.committed);
  CHECK(win.committed->payload["oid"].get<std::string>().size() == 40);
  CHECK(win.is_closed());
  CHECK(view.find(2)->closed->payload["outcome"] == "abandoned");
  CHECK(view.incumbent == "cpu_tiled@" + short_hash(example_variant_id("cpu_tiled")));

  REQUIRE(view.verbs.size() == 1);
  CHECK(view.verbs[0].verb == "iterate");
  CHECK(view.verbs[0].request_id == "r-1");
  REQUIRE(view.verbs[0].answer);
  CHECK((*view.verbs[0].answer)["result"]["outcome"] == "win");

  CHECK(view.ledger.items.at(CostItem::device).usd.value() == Approx(0.003));
  CHECK(view.ledger.items.at(CostItem::device).quantity == Approx(6.5));
  CHECK_FALSE(view.ledger.items.at(CostItem::tokens).usd);
  CHECK_FALSE(view.ledger.total().complete);
  CHECK(win.ledger.items.at(CostItem::device).quantity == Approx(4.0));
}

TEST_CASE("the brief view leaves out what it promises and agrees on the rest", "[session][fold]") {
  const SessionView brief = example_view(FoldDepth::brief);
  const SessionView full = example_view(FoldDepth::full);
  CHECK(brief.events == full.events);
  CHECK(brief.incumbent == full.incumbent);
  CHECK(brief.status == full.status);
  CHECK(brief.log_head == full.log_head);
  CHECK(to_json(brief.ledger) == to_json(full.ledger));
  REQUIRE(brief.iterations.size() == full.iterations.size());
  for (std::size_t i = 0; i < brief.iterations.size(); ++i) {
    const IterationView& a = brief.iterations[i];
    const IterationView& b = full.iterations[i];
    CHECK(a.verdicts.empty());
    CHECK(a.comparisons.empty());
    CHECK(a.findings.empty());
    CHECK(a.turns == b.turns);
    CHECK(a.built.size() == b.built.size());
    CHECK(a.evaluations.size() == b.evaluations.size());
    CHECK(a.costs.size() == b.costs.size());
    CHECK(a.closed->payload == b.closed->payload);
  }
  REQUIRE(brief.verbs.size() == 1);
  CHECK_FALSE(brief.verbs[0].answer);
  CHECK(brief.verbs[0].answered_seq == full.verbs[0].answered_seq);
}

TEST_CASE("folding step by step gives what folding at once gives", "[session][fold]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  must(run_example(files, clock, scratch / "s"));
  const std::string text = slurp(scratch / "s" / "events.jsonl");
  const std::vector<std::string> lines = lines_of(text);
  // Grow a copy line by line beside a folder that follows it.
  EventLog source = must(EventLog::open_reader(files, scratch / "s"));
  fs::create_directories(scratch / "copy");
  EventLog copy = must(EventLog::create(files, clock, scratch / "copy"));
  LogFold folder(FoldDepth::full);
  for (std::int64_t seq = 1; seq <= source.size(); ++seq) {
    must(copy.append(source.envelope(seq).type, must(source.payload(seq))));
    must(folder.update(copy));
    CHECK(folder.view().events == seq);
    CHECK(folder.view().log_head == copy.head());
  }
  const SessionView at_once = must(fold(copy, FoldDepth::full));
  const SessionView& stepwise = folder.view();
  CHECK(stepwise.incumbent == at_once.incumbent);
  CHECK(stepwise.iterations.size() == at_once.iterations.size());
  CHECK(to_json(stepwise.ledger) == to_json(at_once.ledger));
  for (std::size_t i = 0; i < at_once.iterations.size(); ++i) {
    CHECK(stepwise.iterations[i].turns == at_once.iterations[i].turns);
    CHECK(stepwise.iterations[i].costs.size() == at_once.iterations[i].costs.size());
  }
}

TEST_CASE("the incumbent changes when the iteration closes and never when abandoned",
          "[session][fold]") {
  LogFixture f;
  LogFold folder(FoldDepth::brief);
  const auto incumbent = [&] {
    must(folder.update(f.log));
    return folder.view().incumbent;
  };
  f.open_iteration(0);
  CHECK(incumbent().empty());
  REQUIRE(folder.view().in_flight() != nullptr);
  CHECK(folder.view().in_flight()->number == 0);
  f.close_iteration(0, "baseline");
  CHECK(incumbent() == "v0@00000000");
  f.open_iteration(1);
  f.add("incumbent_changed", {{"iteration", 1}, {"from", "v0"}, {"to", "lost@11111111"}});
  CHECK(incumbent() == "v0@00000000");
  f.close_iteration(1, "abandoned");
  CHECK(incumbent() == "v0@00000000");
  f.open_iteration(2);
  f.add("incumbent_changed", {{"iteration", 2}, {"from", "v0"}, {"to", "better@22222222"}});
  f.close_iteration(2, "win");
  CHECK(incumbent() == "better@22222222");
}

TEST_CASE("an abandoned baseline gives no incumbent, its repeat does", "[session][fold]") {
  LogFixture f;
  f.open_iteration(0);
  f.close_iteration(0, "abandoned");
  f.open_iteration(1);
  CHECK(must(fold(f.log, FoldDepth::brief)).incumbent.empty());
  f.add("incumbent_changed", {{"iteration", 1}, {"from", nullptr}, {"to", "start@00000000"}});
  f.close_iteration(1, "baseline");
  CHECK(must(fold(f.log, FoldDepth::brief)).incumbent == "start@00000000");
}

TEST_CASE("calls keep their answers, and one in flight has none", "[session][fold]") {
  LogFixture f;
  const auto call = [&](int n, const char* verb) {
    return f.add("verb_called", {{"n", n},
                                 {"verb", verb},
                                 {"args_sha256", sha256_hex(verb)},
                                 {"args", Json::object()},
                                 {"request_id", nullptr}});
  };
  const std::int64_t first = call(1, "note");
  call(2, "iterate");
  const std::int64_t second = f.add("verb_answered", {{"n", 2}, {"result", {{"value", 20}}}});
  f.add("verb_answered", {{"n", 1}, {"error", {{"code", "io"}, {"message", "no"}}}});
  call(5, "iterate");
  const SessionView view = must(fold(f.log, FoldDepth::full));
  REQUIRE(view.verbs.size() == 3);
  CHECK(view.verbs[0].called_seq == first);
  CHECK(view.verbs[0].answer.value()["error"]["code"] == "io");
  CHECK_FALSE(view.verbs[0].request_id);
  CHECK(view.verbs[1].answered_seq == second);
  CHECK(view.verbs[1].answer.value()["result"]["value"] == 20);
  CHECK(view.verbs[2].n == 5);
  CHECK_FALSE(view.verbs[2].answered_seq);
  CHECK_FALSE(view.verbs[2].answer);
  call(5, "iterate");
  CHECK(fold(f.log, FoldDepth::brief).error().code == ErrorCode::damaged);
}

TEST_CASE("pausing and resuming show in the status", "[session][fold]") {
  LogFixture f;
  const auto status = [&] { return must(fold(f.log, FoldDepth::brief)).status; };
  CHECK(status() == SessionStatus::open);
  f.add("session_paused", {{"reason", "SIGTERM"}});
  CHECK(status() == SessionStatus::paused);
  f.add("session_resumed", {{"environment_changed", Json::array({"kernel"})}});
  CHECK(status() == SessionStatus::open);
  f.add("session_closed", {{"reason", "budget"}});
  CHECK(status() == SessionStatus::closed);
  CHECK(to_string(status()) == "closed");
}

TEST_CASE("a pause, and the time before a killed session was resumed, are times away",
          "[session][fold]") {
  LogFixture f;
  f.clock.advance(std::chrono::minutes(1));
  f.add("session_paused", {{"reason", "SIGTERM"}});
  f.clock.advance(std::chrono::minutes(10));
  f.add("session_resumed", {{"environment_changed", Json::array()}});
  f.clock.advance(std::chrono::minutes(2));
  f.add("note", {{"text", "then it was killed"}});
  f.clock.advance(std::chrono::minutes(7));
  f.add("session_resumed", {{"environment_changed", Json::array()}});
  f.clock.advance(std::chrono::minutes(3));
  f.add("note", {{"text", "work is no absence"}});
  for (const FoldDepth depth : {FoldDepth::brief, FoldDepth::full}) {
    const SessionView view = must(fold(f.log, depth));
    REQUIRE(view.away.size() == 2);
    const auto minutes = [](const SessionView::IdlePeriod& away) {
      return std::chrono::duration_cast<std::chrono::minutes>(*parse_iso8601(away.to_t) -
                                                              *parse_iso8601(away.from_t))
          .count();
    };
    CHECK(minutes(view.away[0]) == 10);
    CHECK(minutes(view.away[1]) == 7);
  }
}

TEST_CASE("facts outside an iteration are kept apart", "[session][fold]") {
  LogFixture f;
  f.add("verdict_given", {{"iteration", nullptr}, {"pass", true}});
  f.add("turn_measured", {{"iteration", nullptr}, {"samples_us", {1.0}}});
  f.add("turn_measured", {{"samples_us", {1.0}}});
  f.add("cost_debited", {{"iteration", nullptr}, {"item", "device"}, {"quantity", 2}, {"usd", 1}});
  f.add("launches_recorded",
        {{"iteration", nullptr}, {"subject", "k@1"}, {"launches", Json::array()}});
  f.add("note", {{"text", "hello"}});
  f.add("recovered", {{"cut_bytes", 3}, {"saved_as", "x"}, {"reason", "y"}});
  const SessionView view = must(fold(f.log, FoldDepth::full));
  CHECK(view.outside.verdicts.size() == 1);
  CHECK(view.outside.turns == std::vector<std::int64_t>{3, 4});
  CHECK(view.outside.costs.size() == 1);
  CHECK(view.outside.launches.size() == 1);
  CHECK(view.not_understood == 0);
  CHECK(view.outside.ledger.total().usd == 1);
  CHECK(view.ledger.total().usd == 1);
  CHECK(view.notes.size() == 1);
  CHECK(view.recoveries.size() == 1);
  CHECK(view.iterations.empty());
}

TEST_CASE("a comparison outside an iteration has the regime of its turns", "[session][fold]") {
  LogFixture fixture;
  const auto measure = [&](const char* plan, const char* regime) {
    Json turn = {{"iteration", nullptr}, {"plan", plan}};
    if (*regime != '\0') turn["regime"] = regime;  // a burst is not said
    return fixture.add("turn_measured", turn);
  };
  const auto compare = [&](const char* plan, const Json& turns, Json more = Json::object()) {
    more.update({{"iteration", nullptr}, {"plan", plan}, {"turns", turns}});
    fixture.add("comparison_made", more);
  };
  const std::int64_t first = measure("hot", "sustained");
  compare("hot", {first, measure("cold", "")});
  const std::int64_t burst = measure("hot", "");
  compare("hot", {burst, burst});
  compare("hot", {first, first},
          {{"regime", "burst"}});  // for a while it was not what was asked for
  compare("cold", {first, burst});
  // Damaged, or of the future: nothing is guessed.
  compare("hot", {burst});
  compare("hot", {"e1", "e2"});
  compare("hot", {-5, 1});
  const SessionView view = must(fold(fixture.log, FoldDepth::full));
  std::vector<std::string> regimes;
  for (const Fact& fact : view.outside.comparisons) {
    regimes.push_back(fact.payload.value("regime", "none"));
  }
  CHECK(regimes == std::vector<std::string>{"sustained", "burst", "sustained", "none", "none",
                                            "none", "none"});
}

TEST_CASE("what the fold does not know is counted, not lost", "[session][fold]") {
  LogFixture f;
  f.add("dream_dreamt", {{"iteration", 99}, {"of", "sheep"}});
  const SessionView view = must(fold(f.log, FoldDepth::full));
  CHECK(view.not_understood == 1);
  CHECK(view.events == 2);
  CHECK(f.log.event(2)->payload["of"] == "sheep");
}

TEST_CASE("a known type of a higher version is not folded by guess", "[session][fold]") {
  const std::string first = "{\"seq\":1,\"prev\":\"" + std::string(k_no_hash) +
                            "\",\"t\":\"2026-01-02T03:04:05.678Z\",\"type\":\"session_opened\","
                            "\"v\":1,\"payload\":{\"session\":\"s\"}}";
  const std::string second = "{\"seq\":2,\"prev\":\"" + sha256_hex(first) +
                             "\",\"t\":\"2026-01-02T03:04:05.678Z\",\"type\":\"cost_debited\","
                             "\"v\":2,\"payload\":{\"usd\":[1,\"EUR\"]}}";
  const Scratch scratch;
  spill(scratch / "events.jsonl", first + "\n" + second + "\n");
  const RealFileSystem files;
  const EventLog log = must(EventLog::open_reader(files, scratch.path()));
  const SessionView view = must(fold(log, FoldDepth::full));
  CHECK(view.not_understood == 1);
  CHECK(view.ledger.items.empty());
}

TEST_CASE("a hypothesis has both answers, whichever version decided it", "[session][fold]") {
  LogFixture f;
  f.open_iteration(1);
  CHECK_FALSE(decided_prediction(must(fold(f.log, FoldDepth::brief)).iterations.at(0)));
  const Json interval{{"low", 1.378}, {"high", 1.394}, {"confidence", 0.99}};
  Json decided{{"iteration", 1},
               {"state", "refuted"},
               {"reason", "faster, and the whole interval is below the predicted 1.400x"},
               {"predicted_speedup", 1.4},
               {"measured_speedup", 1.386},
               {"interval", interval}};
  f.add("hypothesis_decided", decided);
  f.close_iteration(1, "win");
  f.open_iteration(2);
  decided.update({{"iteration", 2}, {"mechanism", "not_confirmed"}, {"size", "above"}});
  f.add("hypothesis_decided", decided);
  for (const FoldDepth depth : {FoldDepth::brief, FoldDepth::full}) {
    const SessionView view = must(fold(f.log, depth));
    CHECK(view.not_understood == 0);
    const auto old = decided_prediction(view.iterations.at(0));
    REQUIRE(old);
    CHECK(old->mechanism == measure::Mechanism::confirmed);
    CHECK(old->size == measure::GainSize::within);
    const auto recorded = decided_prediction(view.iterations.at(1));
    REQUIRE(recorded);
    CHECK(recorded->mechanism == measure::Mechanism::not_confirmed);
    CHECK(recorded->size == measure::GainSize::above);
  }
}

TEST_CASE("an event that contradicts the log is an error that names it", "[session][fold]") {
  struct Case {
    const char* type;
    Json payload;
  };
  const std::vector<Case> cases{
      {"session_opened", example_identity()},
      {"iteration_opened", {{"iteration", 0}}},
      {"iteration_opened", Json::object()},
      {"iteration_opened", {{"iteration", -1}}},
      {"iteration_closed", {{"iteration", 5}, {"outcome", "win"}}},
      {"iteration_closed", {{"outcome", "win"}}},
      {"iteration_closed", {{"iteration", 0}}},
      {"iteration_committed", {{"iteration", 5}, {"oid", ""}}},
      {"verdict_given", {{"iteration", 5}}},
      {"verdict_given", {{"iteration", "0"}}},
      {"turn_measured", {{"iteration", 5}}},
      {"turn_measured", {{"iteration", 1.5}}},
      {"verb_called", {{"n", 0}, {"verb", "x"}, {"args_sha256", ""}}},
      {"verb_called", {{"n", 1}}},
      {"verb_answered", {{"n", 3}}},
      {"verb_answered", {{"result", 3}}},
      {"cost_debited", {{"item", "gold"}, {"quantity", 1}}},
      {"cost_debited", {{"item", "device"}}},
      {"cost_debited", {{"item", "device"}, {"quantity", 1}, {"usd", "1"}}},
      {"incumbent_changed", {{"iteration", 0}}},
  };
  for (const Case& c : cases) {
    LogFixture f;
    f.open_iteration(0);
    const std::int64_t seq = f.add(c.type, c.payload);
    INFO(c.type << " " << c.payload.dump());
    LogFold folder(FoldDepth::full);
    const auto done = folder.update(f.log);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == ErrorCode::damaged);
    CHECK(done.error().message().find("event " + std::to_string(seq)) != std::string::npos);
    CHECK(folder.view().events == seq - 1);
    CHECK_FALSE(folder.update(f.log).ok());
    CHECK_FALSE(fold(f.log, FoldDepth::full).ok());
  }
}
