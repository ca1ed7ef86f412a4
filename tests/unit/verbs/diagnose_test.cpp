// SPDX-License-Identifier: MIT
// `diagnose`: causes are checked against a session's log or files, measured if they are open,
// stored in the log and shown by its reports.
#include "core/json.hpp"
#include "verbs/decided_causes.hpp"

#include <algorithm>
#include <vector>

#include "analyze/analysis.hpp"
#include "report/report.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"
#include "verbs/situation.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::catalogue;
using namespace wb::engine;
using namespace wb::verbs;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using testing::Bench;

namespace {

struct Diagnosed : Bench {
  /// A start whose time goes with the keys, and a win whose does not.
  Diagnosed() {
    testing::FakeSubject walks = with_time(200);
    walks.time_us = [](const Problem& problem, PlanKind plan) {
      const double us = 6.0 * static_cast<double>(problem.Skv);
      return plan == PlanKind::eager ? us + 50 : us;
    };
    worker.subjects["cpu_unfused"] = walks;
    worker.subjects["cpu_tiled"] = with_time(100);
    open();
  }
  Json diagnose(Json args = Json::object()) { return call("diagnose", args, session); }
};

const Json& cause_in(const Json& answer, const std::string& id) {
  for (const Json& cause : answer["causes"]) {
    if (cause["cause"] == id) return cause;
  }
  throw std::logic_error("no cause " + id);
}

}  // namespace

TEST_CASE("rules name analyses that are there, and needs are calls that verbs take",
          "[engine][causes]") {
  const auto causes = load_causes(RealFileSystem(), {{source_dir()}});
  REQUIRE(causes.ok());
  std::set<std::string_view> known{"sass",        "ptxas",  "configuration",
                                   "launch_rule", "spills", "warming"};
  for (const Analysis& analysis : analyses()) known.insert(analysis.name);
  for (const Cause& cause : *causes) {
    for (const auto* rules : {&cause.supported, &cause.refuted}) {
      for (const CauseRule& rule : *rules) {
        INFO(cause.id << ": " << rule.analysis);
        CHECK(known.contains(rule.analysis));
      }
    }
    for (const CauseNeed& need : cause.needs) {
      INFO(cause.id << ": " << need.verb << " " << need.arguments.dump());
      const Verb* verb = find_verb(need.verb);
      REQUIRE(verb != nullptr);
      CHECK(check_arguments(verb->spec, need.arguments).ok());
    }
  }
}

TEST_CASE("causes of a session are decided by its log, and nothing is written",
          "[engine][causes]") {
  Diagnosed bench;
  const auto before = Bench::snapshot(bench.session);
  const Json answer = bench.diagnose();
  CHECK(before == Bench::snapshot(bench.session));
  CHECK(answer["subject"].get<std::string>().rfind("cpu_unfused@", 0) == 0);
  CHECK(answer["start"].is_null());
  CHECK(cause_in(answer, "launch_bound")["state"] == "refuted");
  const Json& open = cause_in(answer, "sequential_kv");
  CHECK(open["state"] == "undecided");
  CHECK(open["needs"][0]["probe"] == "keys");
  CHECK(open["needs"][0]["verb"] == "measure");
  const std::string text = answer["text"];
  CHECK(text.find("What would decide the undecided") != std::string::npos);
  CHECK(text.find("sdpa-wb measure cpu_unfused@") != std::string::npos);
}

TEST_CASE("open causes are measured, and what was found is kept with its events",
          "[engine][causes]") {
  Diagnosed bench;
  const Json answer = bench.diagnose({{"measure", true}});
  INFO(answer["measured"].dump());
  REQUIRE_FALSE(answer["measured"].empty());
  const Json& walk = cause_in(answer, "sequential_kv");
  REQUIRE(walk["state"] == "supported");
  CHECK(walk["strength"] == "strong");
  const auto found = bench.events("finding_recorded");
  const auto keys = std::find_if(found.begin(), found.end(), [](const Event& event) {
    return event.payload["analysis"] == "key_walk";
  });
  REQUIRE(keys != found.end());
  CHECK(keys->payload["iteration"].is_null());
  CHECK(walk["evidence"][0]["events"].back() == keys->seq);
  // The finding rests on turns that were taken for it.
  const std::int64_t first = keys->payload["events"][0];
  CHECK(bench.engine->session()->log().envelope(first).type == "turn_measured");
  const auto decided = bench.events("causes_decided");
  REQUIRE(decided.size() == 1);
  CHECK(decided[0].payload["causes"] == answer["causes"]);
  CHECK_FALSE(decided[0].payload.contains("text"));
  // What is decided is not measured again.
  const Json again = bench.diagnose({{"measure", true}});
  for (const Json& row : again["measured"]) CHECK(row["probe"] != "keys");
  CHECK(cause_in(bench.diagnose(), "sequential_kv")["state"] == "supported");
}

TEST_CASE("problems that were lost to a rival are decided as the first group", "[engine][causes]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  testing::FakeSubject library = Bench::with_time(50);
  library.time_us = [](const Problem& problem, PlanKind) {
    return problem.Sq == 32 ? 800.0 : 50.0;
  };
  bench.worker.subjects["torch_cpu_sdpa"] = library;
  bench.open({{"problem", "B=1 Hq=1 Sq=32 D=16 f32;B=1 Hq=2 Sq=48 D=16 f32"},
              {"rivals", {"torch_cpu_sdpa"}}});
  const Json answer = bench.call("diagnose", Json::object(), bench.session);
  std::size_t grouped = 0;
  for (const Json& cause : answer["causes"]) {
    if (!cause["not_applicable"].is_null()) continue;
    INFO(cause.dump());
    REQUIRE(cause["groups"].size() == 2);
    ++grouped;
    CHECK(cause["groups"][0]["group"].get<std::string>().rfind("lost to a rival", 0) == 0);
    CHECK(cause["groups"][1]["group"].get<std::string>().rfind("won", 0) == 0);
    CHECK(cause["groups"][0]["problems"].size() == 1);
    // Where it is open, its measurement is of the lost problem.
    const Json& by = cause["decided_by"];
    if (by.is_null() || !by["probe"].is_null()) continue;
    CHECK(by["command"].get<std::string>().find("Sq=48") != std::string::npos);
  }
  CHECK(grouped > 3);
  CHECK(answer["siblings"].empty());
}

TEST_CASE("a probe that fails is told and ends nothing", "[engine][causes]") {
  Diagnosed bench;
  bench.worker.subjects["cpu_unfused"].passes = [](const Problem& problem) {
    return problem.Skv <= 32;
  };
  const Json answer = bench.diagnose({{"measure", true}});
  const auto& rows = answer["measured"];
  const auto keys = std::find_if(rows.begin(), rows.end(),
                                 [](const Json& row) { return row["probe"] == "keys"; });
  REQUIRE(keys != rows.end());
  CHECK((*keys)["outcome"] == "failed");
  CHECK((*keys)["message"].get<std::string>().find("verdict") != std::string::npos);
  CHECK(cause_in(answer, "sequential_kv")["state"] == "undecided");
  CHECK(bench.events("causes_decided").size() == 1);
}

TEST_CASE("the end of a session keeps its causes, told by report and roadmap", "[engine][causes]") {
  Diagnosed bench;
  bench.diagnose({{"measure", true}});
  const Json advised = bench.call("advise", Json::object(), bench.session);
  const auto remedies = [](const Json& roadmap, const std::string& technique) {
    for (const Json& row : roadmap["entries"]) {
      if (row["technique"] == technique) return row["causes"];
    }
    return Json();
  };
  CHECK(remedies(advised, "split_kv") == Json::array({"sequential_kv"}));
  CHECK(advised["text"].get<std::string>().find("remedies `sequential_kv`") != std::string::npos);
  REQUIRE(bench.iterate()["outcome"] == "win");
  bench.call("close", Json::object(), bench.session);
  const auto decided = bench.events("causes_decided");
  REQUIRE(decided.size() == 2);
  const Json& kept = decided.back().payload;
  CHECK(kept["subject"].get<std::string>().rfind("cpu_tiled@", 0) == 0);
  CHECK(kept["start"]["subject"].get<std::string>().rfind("cpu_unfused@", 0) == 0);
  CHECK(cause_in(kept["start"], "sequential_kv")["state"] == "supported");
  CHECK(cause_in(kept, "sequential_kv")["strength"] != "strong");  // nobody measured its walk
  CHECK(decided.back().seq < bench.events("roadmap_made").back().seq);
  const std::string report =
      *RealFileSystem().read(bench.session / "reports" / "session_full.md", 1 << 20);
  CHECK(report.find("## Causes") != std::string::npos);
  CHECK(report.find("[e" + std::to_string(decided.back().seq) + "]") != std::string::npos);
  bench.restart();
  for (const auto& [kind, heading] :
       {std::pair("root-cause", "# Root cause: "), std::pair("bottleneck", "# Bottlenecks: ")}) {
    const Json page = bench.call("report", {{"kind", kind}}, bench.session);
    CHECK(page["text"].get<std::string>().rfind(heading, 0) == 0);
  }
  const auto both =
      bench.engine->call("report", {{"kind", "root-cause"}, {"html", true}}, bench.session);
  REQUIRE_FALSE(both.ok());
  CHECK(both.error().code == ErrorCode::usage);
  // A closed session is read, never measured.
  CHECK(bench.diagnose()["causes"].size() > 3);
  const auto closed = bench.engine->call("diagnose", {{"measure", true}}, bench.session);
  REQUIRE_FALSE(closed.ok());
  CHECK(closed.error().message().find("closed") != std::string::npos);
}

TEST_CASE("a recorded launch decides what its rule derives, with its event as proof",
          "[engine][causes]") {
  const auto answer_with = [](Bench& bench, std::int64_t blocks) {
    bench.play_gpu();  // two SMs
    testing::FakeSubject ours = Bench::with_time(200);
    if (blocks > 0) {
      ours.launches = {{.kernel = "flash", .grid = {blocks, 1, 1}, .block = {128, 1, 1}}};
    }
    bench.worker.subjects["triton_flash"] = ours;
    bench.call("open",
               {{"start", "triton_flash"},
                {"problem", "B=1 Hq=4 Sq=1024 D=64 f16"},
                {"rivals", {"none"}},
                {"effort", "quick"}},
               bench.session);
    return bench.call("diagnose", Json::object(), bench.session);
  };
  Bench few;
  const Json answer = answer_with(few, 1);
  const Json& cause = cause_in(answer, "under_utilisation");
  CHECK(cause["state"] == "supported");
  CHECK(cause["strength"] == "strong");
  const auto recorded = few.events("launches_recorded");
  REQUIRE(recorded.size() == 1);
  const auto events = cause["evidence"][0]["events"].get<std::vector<std::int64_t>>();
  CHECK(std::find(events.begin(), events.end(), recorded[0].seq) != events.end());
  // By its rule the kernel has a block for each 64 rows: without a launch nothing else is known.
  Bench unseen;
  const Json derived = answer_with(unseen, 0);
  CHECK(cause_in(derived, "under_utilisation")["state"] == "refuted");
  CHECK(cause_in(derived, "under_utilisation")["strength"] != "strong");
}

TEST_CASE("files are diagnosed without a session", "[engine][causes]") {
  Bench bench;
  const fs::path path = bench.folder.path() / "t.csv";
  REQUIRE(bench.file_system
              .write_atomic(path,
                            "B,H,S,D,dtype,ours (ms),sdpa (ms)\n1,1,64,64,f16,0.01,0.01\n"
                            "1,8,64,64,f16,0.078,0.0101\n1,32,64,64,f16,0.31,0.0104\n",
                            Durability::none)
              .ok());
  const Json answer = bench.call("diagnose", {{"table", path.string()}, {"device", "L4"}});
  CHECK(cause_in(answer, "grid_misses_heads")["state"] == "supported");
  CHECK(cause_in(answer, "grid_misses_heads")["strength"] == "weak");
  const auto neither = bench.engine->call("diagnose", Json::object(), {});
  REQUIRE_FALSE(neither.ok());
  CHECK(neither.error().code == ErrorCode::usage);
}

TEST_CASE("a probe varies one size", "[engine][causes]") {
  const Problem base = *parse_problem("B=2 Hq=4 Sq=64 D=64 f16 causal=top_left");
  const auto heads = probe_problems(base, "heads");
  REQUIRE(heads.size() == 3);
  CHECK(heads[0].B == 2);
  CHECK(heads[2].B == 8);
  CHECK(heads[2].Skv == base.Skv);
  const auto keys = probe_problems(base, "keys");
  CHECK(keys[0].Skv == 128);
  CHECK(keys[2].Skv == 512);
  CHECK(keys[2].Sq == base.Sq);
  CHECK(keys[2].causal == Causal::none);
  CHECK(probe_problems(base, "eager").size() == 1);
}

TEST_CASE("causes of any size fit into one event, and say what was left out", "[engine][causes]") {
  const auto causes = [](std::size_t count, std::size_t evidence, std::size_t groups) {
    Json list = Json::array();
    for (std::size_t n = 0; n < count; ++n) {
      Json one{{"cause", "c"}, {"evidence_left_out", 1}, {"evidence", Json::array()}};
      for (std::size_t i = 0; i < evidence; ++i) {
        one["evidence"].push_back({{"statement", std::string(500, 'e')}, {"rank", i}});
      }
      one["groups"] = Json(groups, std::string(200, 'g'));
      one["where"] = Json(groups, std::string(100, 'w'));
      list.push_back(one);
    }
    return list;
  };
  const auto room = session::k_max_event_line_bytes - 1024;
  Json small{{"causes", causes(16, 2, 1)}, {"start", {{"causes", causes(16, 2, 1)}}}};
  const Json before = small;
  fit_in_event(small);
  CHECK(small == before);

  Json large{{"causes", causes(16, 5, 1)}, {"start", {{"causes", causes(16, 5, 1)}}}};
  fit_in_event(large);
  CHECK(large.dump().size() <= room);
  const Json &cause = large["causes"][0], &at_start = large["start"]["causes"][0];
  CHECK(cause["evidence"].size() >= at_start["evidence"].size());
  CHECK(at_start["evidence"].size() < 5);
  CHECK(at_start["evidence"][0]["rank"] == 0);  // the strongest stays
  CHECK(at_start["evidence"].size() + at_start["evidence_left_out"].get<std::size_t>() == 6);

  Json huge{{"causes", causes(16, 5, 200)}, {"start", {{"causes", causes(16, 5, 200)}}}};
  fit_in_event(huge);
  CHECK(huge.dump().size() <= room);
  CHECK(huge["start"].is_null());
  CHECK(huge["causes"].size() == 16);
  Json alone{{"causes", causes(16, 20, 0)}, {"start", nullptr}};
  fit_in_event(alone);
  CHECK(alone.dump().size() <= room);
}
