// SPDX-License-Identifier: MIT
// propose, propose_many, record_usage, read_ref, and get_job's look at one call.
#include "core/json.hpp"
#include "verbs/proposed.hpp"

#include <fstream>

#include "core/hash.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::verbs;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::variant;
using testing::Bench;

namespace {

const std::map<std::string, std::string> k_files{{"a.cpp", "one\n  two\nthree\ntwo twos\n"}};

std::string cause_of(const std::vector<Edit>& edits) {
  const auto made = apply_edits(k_files, edits);
  return made ? "" : made.error().message();
}

/// A Bench with a session whose start is cpu_unfused.
struct Proposing : Bench {
  explicit Proposing(const Json& more = Json::object()) {
    worker.subjects["cpu_unfused"] = with_time(200);
    worker.subjects["mine"] = with_time(100);
    open(more);
  }
  Result<Json> propose(Json args) { return engine->call("propose", args, session); }
  static Json edit(const std::string& search, const std::string& replace) {
    return {{{"path", "kernel.cpp"}, {"search", search}, {"replace", replace}}};
  }
  const Json k_good{{"name", "mine"},
                    {"edits", edit("namespace unfused {", "namespace unfused {  //")}};
};

}  // namespace

TEST_CASE("an edit is exact and stands there once", "[engine][agent]") {
  const auto made = apply_edits(k_files, {{"a.cpp", "  two", "2"}, {"a.cpp", "2\nthree", "3"}});
  REQUIRE(made.ok());
  CHECK(made->at("a.cpp") == "one\n3\ntwo twos\n");  // the second saw what the first did
  CHECK(apply_edits(k_files, {})->empty());
  CHECK(cause_of({{"a.cpp", "two", "2"}}).find("lines 2, 4, 4") != std::string::npos);
  CHECK(cause_of({{"a.cpp", "two\nthree", ""}}).empty());
  CHECK(cause_of({{"a.cpp", "\ttwo\nthree", ""}}).find("like line 2") != std::string::npos);
  CHECK(cause_of({{"a.cpp", "four", ""}}).find("does not stand there") != std::string::npos);
  CHECK(cause_of({{"a.cpp", "", "x"}}).find("is empty") != std::string::npos);
  CHECK(cause_of({{"b.cpp", "one", "x"}}).find("did you mean a.cpp?") != std::string::npos);
  // Whether two that overlap are meant by one or the other, nobody can tell.
  CHECK_FALSE(apply_edits({{"a", "aaa"}}, {{"a", "aa", "b"}}).ok());
}

TEST_CASE("a proposal is stored, compiled and judged, and not timed", "[engine][agent]") {
  Proposing bench;
  const std::size_t turns_before = bench.events("turn_measured").size();
  const auto answer = bench.propose(bench.k_good);
  REQUIRE(answer.ok());
  INFO(answer->dump());
  CHECK((*answer)["pass"] == true);
  CHECK((*answer)["outcome"] == "pass");
  CHECK((*answer)["problems"].size() > 1);  // the suite's, and the drawn runs
  CHECK(bench.events("turn_measured").size() == turns_before);
  CHECK(bench.events("iteration_opened").size() == 1);  // the baseline alone
  const std::string label = (*answer)["variant"];
  CHECK(label.starts_with("mine@"));
  // What it cost is in the ledger, outside of any iteration.
  const Json cost = bench.events("cost_debited").back().payload;
  CHECK(cost["what"] == label);
  CHECK(cost["iteration"].is_null());
  // Its label serves in an iteration, and in another process.
  bench.restart();
  CHECK(bench.iterate({{"variant", label}})["variant"] == label);
}

TEST_CASE("what is wrong with a proposal is its answer or a named error", "[engine][agent]") {
  Proposing bench;
  const auto code_of = [&](const Json& args) {
    const auto answer = bench.propose(args);
    return answer ? std::string("none") : std::string(to_string(answer.error().code));
  };
  CHECK(code_of({{"name", "mine"}}) == "usage");  // nothing is new
  CHECK(code_of({{"parent", "cpu_tild"}, {"configuration", {{"A", 1}}}}) == "not_found");
  CHECK(code_of({{"edits", Proposing::edit("not there", "")}}) == "invalid");
  CHECK(code_of({{"files", {{"../x.cpp", "y"}}}}) == "invalid");
  CHECK(code_of({{"files", {{"unused.cpp", "y"}}}}) == "invalid");
  CHECK(code_of({{"files", {{"kernel.cpp", "x"}}}, {"name", "../x"}}) == "invalid");
  CHECK(code_of({{"edits", Json{{{"path", "kernel.cpp"}}}}}) == "usage");
  bench.worker.subjects["wrong"] = Bench::with_time(100);
  bench.worker.subjects["wrong"].passes = [](const Problem&) { return false; };
  Json wrong = bench.k_good;
  wrong["name"] = "wrong";
  const auto answer = bench.propose(wrong);
  REQUIRE(answer.ok());
  CHECK((*answer)["pass"] == false);
  CHECK((*answer)["outcome"] == "correctness");
}

TEST_CASE("what did not compile can be edited further", "[engine][agent]") {
  Proposing bench;
  bench.toolchain->refused_text = "SYNTAX ERROR";
  Json broken = bench.k_good;
  broken["edits"][0]["replace"] = "SYNTAX ERROR";
  const auto refused = bench.propose(broken);
  REQUIRE(refused.ok());
  CHECK((*refused)["outcome"] == "compile");
  CHECK_FALSE((*refused)["compiler_output"].get<std::string>().empty());
  const Json whole = bench.call("read_ref", {{"ref", (*refused)["output_ref"]}}, bench.session);
  CHECK(whole["text"] == (*refused)["compiler_output"]);
  const auto mended =
      bench.propose({{"parent", (*refused)["variant"]},
                     {"edits", Proposing::edit("SYNTAX ERROR", "namespace unfused {")}});
  REQUIRE(mended.ok());
  CHECK((*mended)["pass"] == true);
}

TEST_CASE("several proposals are one table, right ones first", "[engine][agent]") {
  Proposing bench;
  bench.worker.subjects["wrong"] = Bench::with_time(50);
  bench.worker.subjects["wrong"].passes = [](const Problem&) { return false; };
  Json wrong = bench.k_good;
  wrong["name"] = "wrong";
  const Json unreadable{{"name", nullptr}, {"edits", Proposing::edit("not there", "")}};
  const auto answer = bench.engine->call(
      "propose_many", {{"proposals", {unreadable, wrong, bench.k_good}}}, bench.session);
  REQUIRE(answer.ok());
  INFO(answer->dump());
  CHECK((*answer)["passed"] == 1);
  const Json& rows = (*answer)["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["proposal"] == 3);
  CHECK(rows[1]["outcome"] == "correctness");
  CHECK(rows[2]["outcome"] == "refused");
  CHECK(rows[2]["rank"] == 3);
  const auto empty =
      bench.engine->call("propose_many", {{"proposals", Json::array()}}, bench.session);
  CHECK_FALSE(empty.ok());
  const auto unknown =
      bench.engine->call("propose_many", {{"proposals", {{{"speedup", 2.0}}}}}, bench.session);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::usage);
  CHECK(unknown.error().message().find("item 1") != std::string::npos);
}

TEST_CASE("tokens are debited and stop the session at its budget", "[engine][agent]") {
  Proposing bench({{"token_usd_per_million", 10.0}, {"usd", 5.0}});
  const Json first = bench.call(
      "record_usage", {{"model", "m"}, {"input_tokens", 90'000}, {"output_tokens", 10'000}},
      bench.session);
  CHECK(first["usd"] == 1.0);
  CHECK(first["total_tokens"] == 100'000);
  CHECK(first["stop_reason"].is_null());
  const Json second = bench.call(
      "record_usage", {{"model", "m"}, {"input_tokens", 1}, {"output_tokens", 0}, {"usd", 4.5}},
      bench.session);
  CHECK(second["usd"] == 4.5);
  CHECK(second["stop_reason"].get<std::string>().starts_with("budget: $5.50 of $5.00"));
  CHECK(bench.events("cost_debited").back().payload["what"] == "m");
  const auto stopped = bench.propose(bench.k_good);
  REQUIRE(stopped.ok());
  CHECK((*stopped)["outcome"] == "stopped");
  CHECK((*stopped)["stop_reason"] == second["stop_reason"]);
  CHECK(bench.events("variant_built").size() == 1);  // the start's
  CHECK(bench.iterate()["outcome"] == "stopped");
  CHECK_FALSE(bench.engine
                  ->call("record_usage",
                         {{"model", "m"}, {"input_tokens", -1}, {"output_tokens", 0}},
                         bench.session)
                  .ok());
}

TEST_CASE("a reference is read piece by piece", "[engine][agent]") {
  Proposing bench;
  const auto read = [&](const Json& args) { return bench.call("read_ref", args, bench.session); };
  const Json whole = read({{"ref", "cpu_unfused/kernel.cpp"}, {"limit", 65'536}});
  CHECK(whole["next_offset"].is_null());
  std::string text;
  for (Json next = 0; !next.is_null();) {
    const Json piece = read({{"ref", "cpu_unfused/kernel.cpp"}, {"offset", next}, {"limit", 997}});
    CHECK(piece["text"].get<std::string>().size() <= 997);
    text += piece["text"].get<std::string>();
    next = piece["next_offset"];
  }
  CHECK(text == whole["text"]);
  CHECK(read({{"ref", "cpu_unfused"}})["text"].get<std::string>().find("cpu_unfused/kernel.json") !=
        std::string::npos);
  CHECK(read({{"ref", "e1"}})["text"].get<std::string>().find("session_opened") !=
        std::string::npos);
  CHECK(read({{"ref", "i0"}})["total_bytes"].get<int>() > 2);
  CHECK(read({{"ref", "e1"}, {"offset", 1'000'000'000}})["text"] == "");
  // What a tool has cut lies beside the session; a changed one is not told.
  const std::string kept = "ä and more";
  const std::string digest = sha256_hex(kept);
  fs::create_directories(bench.session / "jobs");
  std::ofstream(bench.session / "jobs" / digest) << kept;
  CHECK(read({{"ref", digest}})["text"] == kept);
  CHECK(read({{"ref", digest}, {"limit", 1}})["text"] == "ä");
  CHECK(read({{"ref", digest}, {"offset", 1}, {"limit", 2}})["text"] == "ä");
  std::ofstream(bench.session / "jobs" / digest) << "other";
  for (const std::string& ref :
       {digest, std::string(64, '0'), std::string("cpu_unfused/../cpu_tiled/kernel.cpp"),
        std::string("../s/events.jsonl"), std::string("/etc/passwd"), std::string("e999999"),
        std::string("mine@00000000/kernel.cpp"), std::string("jobs/x")}) {
    INFO(ref);
    CHECK_FALSE(bench.engine->call("read_ref", {{"ref", ref}}, bench.session).ok());
  }
}

TEST_CASE("the shapes of held-out problems are read by nobody", "[engine][agent]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.roots.insert(bench.roots.begin(), bench.folder.path());
  fs::create_directories(bench.folder.path() / "kernels");
  const auto problem = [](const char* name, int keys, bool held_out) {
    return Json{
        {"name", name}, {"B", 1},  {"Hq", 1},          {"Hkv", 1},       {"Sq", 32},
        {"Skv", keys},  {"D", 16}, {"causal", "none"}, {"dtype", "f32"}, {"held_out", held_out}};
  };
  std::ofstream(bench.folder.path() / "kernels" / "suites.json")
      << Json{{"version", 2},
              {"suites",
               {{"two",
                 {{"about", "x"},
                  {"problems", {problem("seen", 32, false), problem("unseen", 747, true)}}}}}}};
  bench.restart();
  const auto opened = bench.engine->call(
      "open",
      {{"start", "cpu_unfused"}, {"suite", "two"}, {"rivals", {"none"}}, {"effort", "quick"}},
      bench.session);
  if (!opened.ok()) FAIL(opened.error().message());
  const std::string log = *bench.file_system.read(bench.session / "events.jsonl", 1u << 26);
  // No drawn run of a verdict has so many keys. There is something to hide:
  REQUIRE(log.find("Skv=747") != std::string::npos);
  REQUIRE(log.find("\"unseen\"") != std::string::npos);
  for (int seq = 1; seq <= bench.engine->session()->log().size(); ++seq) {
    const Json piece = bench.call(
        "read_ref", {{"ref", "e" + std::to_string(seq)}, {"limit", 65'536}}, bench.session);
    INFO(piece["text"].get<std::string>());
    CHECK(piece["text"].get<std::string>().find("Skv=747") == std::string::npos);
    CHECK(piece["text"].get<std::string>().find("\"unseen\"") == std::string::npos);
  }

  // A candidate that prints what it is shown and dies, in the verdict or, after it, in a turn.
  const Failure told{Invalidity::runtime, "it died", "I saw Skv=747"};
  testing::FakeSubject& candidate = bench.worker.subjects["cpu_tiled"];
  const Json asked{{"variant", "cpu_tiled"},
                   {"hypothesis", "h"},
                   {"predicted_speedup", 2.0},
                   {"confirm", "always"}};
  SECTION("in the verdict") {
    candidate.time_us = [&](const Problem&, PlanKind) {
      candidate.verdict_failure = told;  // from the first turn on, so of the held-out verdict
      return 100.0;
    };
  }
  SECTION("in a turn") {
    candidate.passes = [&](const Problem& judged) {
      if (judged.Skv == 747 && judged.Sq == 32) candidate.turn_failure = told;
      return true;
    };
  }
  const Json answer = bench.call("iterate", asked, bench.session);
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["message"].get<std::string>().find("it died") != std::string::npos);
  CHECK(answer["subject_output"] == "");
  CHECK(answer["subject_output_ref"].is_null());
  for (const auto& blob : fs::directory_iterator(bench.session / "blobs")) {
    const std::string kept = *bench.file_system.read(blob.path(), 1u << 26);
    CHECK(kept.find("I saw") == std::string::npos);
  }
}

TEST_CASE("a repeated request gets the first answer, with other arguments none",
          "[engine][agent]") {
  Proposing bench;
  const auto first = bench.engine->call("propose", bench.k_good, bench.session, "r1");
  REQUIRE(first.ok());
  const std::int64_t events = bench.engine->session()->log().size();
  const auto again = bench.engine->call("propose", bench.k_good, bench.session, "r1");
  CHECK(*again == *first);
  Json other = bench.k_good;
  other["name"] = "other";
  const auto refused = bench.engine->call("propose", other, bench.session, "r1");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(bench.engine->session()->log().size() == events);
  // Whoever holds no lock finds it by the id.
  bench.restart();
  const Json job = bench.call("get_job", {{"request_id", "r1"}}, bench.session);
  CHECK(job["done"] == true);
  CHECK(job["call"]["result"] == *first);
  CHECK(job["call"]["args"] == bench.k_good);
  CHECK_FALSE(bench.engine->call("get_job", {{"request_id", "r2"}}, bench.session).ok());
}
