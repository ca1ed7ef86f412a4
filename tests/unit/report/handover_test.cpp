// SPDX-License-Identifier: MIT
// The pages that hand work over, and what the catalogues and the roadmap add to the report.
#include <cmath>

#include "analyze/analysis.hpp"
#include "audit.hpp"
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

/// A win, a refuted try, one that does not compile, and a roadmap.
LogBuilder advised(std::int64_t predictions = 0) {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  run_win(log, 1);
  run_no_gain(log, 2);
  run_compile_failure(log, 3);
  log.add("roadmap_made", roadmap_payload(predictions));
  close_session(log, "finished");
  log.view().log_head = std::string(64, 'a');
  return log;
}

double figure_after(const std::string& line, const std::string& before) {
  const auto at = line.find(before);
  REQUIRE(at != std::string::npos);
  return std::stod(line.substr(at + before.size()));
}

}  // namespace

TEST_CASE("a handover tells what was reached, what failed and what was learned",
          "[report][handover]") {
  const LogBuilder log = advised();
  const std::string page = render_handover(log.view());
  INFO(page);
  CHECK(tells(page, "Technical: 1 of 3 iterations gained"));
  CHECK(tells(page, "1 iteration ended invalid"));
  CHECK(tells(page, "mechanisms: 1 confirmed, 1 not confirmed, 1 undecided"));
  CHECK(tells(page, "Learned, where measurements contradicted what was predicted"));
  const IterationView& lost = log.view().iterations[2];
  CHECK(tells(
      line_with(page, "- " + lost.opened.payload["hypothesis"]["theory"].get<std::string>().substr(
                                 0, 10)),
      "[e" + std::to_string(lost.hypothesis->seq) + "]"));
}

TEST_CASE("a gain saves the weighted sum over the problems, not a mean ratio of hours",
          "[report][handover]") {
  const LogBuilder log = advised();
  const std::string page = render_handover(log.view());
  const report::Page read(log.view());
  double start_us = 0, now_us = 0;
  for (const report::SuiteEntry& entry : read.facts.suite) {
    const auto gained = report::problem_gain(read, entry.problem);
    const report::Compared* held = read.held.find("", entry.problem, read.facts.plan);
    if (!gained) continue;
    now_us += entry.weight * held->candidate_us.value();
    start_us += entry.weight * held->candidate_us.value() * gained->ratio.value.value();
  }
  REQUIRE(start_us > now_us);
  INFO(page);
  CHECK(tells(line_with(page, "- Each problem once, by its weight, takes "),
              report::microseconds(now_us) + " us; at the start's speed it would take " +
                  report::microseconds(start_us) + " us"));
  const double device_s = log.view().ledger.items.at(CostItem::device).quantity;
  const std::string line = line_with(page, "- The device time of the session is won back after ");
  CHECK(tells(line, report::duration(device_s * start_us / (start_us - now_us))));
  CHECK_FALSE(tells(page, "an hour takes"));
  LogBuilder none;
  open_session(none);
  run_baseline(none);
  CHECK(tells(render_handover(none.view()), "Nothing was gained, so nothing of the spend"));
}

TEST_CASE("the next iteration and session are those of the roadmap", "[report][handover]") {
  const LogBuilder log = advised();
  const std::string page = render_handover(log.view());
  INFO(page);
  CHECK(tells(line_with(page, "- Target: "), "`cache_tiling`, 1.25x (1.10x to 1.60x)"));
  CHECK(tells(line_with(page, "- Why: "), "remedies `memory_bandwidth`"));
  CHECK(tells(page, "--hypothesis 'cache_tiling' --predicted-speedup 1.25"));
  CHECK(tells(line_with(page, "- Objective: "), "expected at part 1"));
  CHECK(tells(line_with(page, "- Estimate: "), "work 4 to 12 h"));
  CHECK(tells(line_with(page, "- Estimate: "), "money at a rate not given"));
  CHECK(tells(line_with(page, "### Part 1: "), "1.30x the fastest rival"));
  CHECK(tells(line_with(page, "2. `split_kv`"), "alone 1.20x"));
  const std::string older = render_handover(whole_session().view());
  CHECK(tells(older, "This log holds no roadmap; `sdpa-wb advise` makes one."));
}

TEST_CASE("times after a gain are times before divided by it", "[report][handover]") {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  log.add("finding_recorded",
          {{"iteration", 0},
           {"analysis", "roofline_share"},
           {"statement", "a rate"},
           {"problem", k_prefill},
           {"figures", {{"plan", "hot"}, {"time_us", 500.0}, {"achieved_flops_per_s", 4e9}}},
           {"events", Json::array()},
           {"unseen", ""}});
  log.add("roadmap_made", roadmap_payload());
  const std::string page = render_handover(log.view());
  const auto at = page.find("If each problem gained");
  REQUIRE(at != std::string::npos);
  const std::string table = page.substr(at, 600);
  INFO(table);
  for (const char* cell : {" 500.0 ", " 4 |", " 400.0 ", " 5 |"}) CHECK(tells(table, cell));
}

TEST_CASE("the choices say what speaks for them and what they cost", "[report][handover]") {
  const std::string page = render_handover(advised().view());
  INFO(page);
  CHECK(tells(page, "A: adopt "));
  CHECK(tells(page, "B: go on"));
  CHECK(tells(page, "4 to 12 h of work, measuring 2 min"));
  CHECK(tells(page, "C: go back to "));
  LogBuilder lost;
  open_session(lost);
  run_baseline(lost);
  const std::string none = render_handover(lost.view());
  CHECK(tells(none, "C: stay with "));
  CHECK_FALSE(tells(none, "A: adopt "));
}

TEST_CASE("the next dollar is the first step of the roadmap over what a try took",
          "[report][handover][cost]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  for (int i = 1; i <= 4; ++i) {
    open_iteration(log, i, "v" + std::to_string(i), "theory", 1.1);
    debit(log, i, "device", 18, 0.05);
    close_iteration(log, i, "no_gain");
  }
  CHECK_FALSE(tells(render_session(log.view()), "The next dollar"));  // without a roadmap
  log.add("roadmap_made", roadmap_payload(3));
  const std::string line = line_with(render_session(log.view()), "- The next dollar: ");
  CHECK(tells(line, "`cache_tiling` should bring 1.25x"));
  CHECK(tells(line, "calibrated by the predictions"));
  CHECK(figure_after(line, "at $") == Approx(0.05).epsilon(0.05));
  CHECK(figure_after(line, "that is ") == Approx(25 / 0.05).epsilon(0.05));
  log.add("roadmap_made", roadmap_payload(2));
  CHECK(tells(line_with(render_session(log.view()), "- The next dollar: "), "too few predictions"));
  open_iteration(log, 5, "v5", "theory", 1.1);
  debit(log, 5, "device", 18, std::nullopt);
  close_iteration(log, 5, "no_gain");
  const std::string unset = line_with(render_session(log.view()), "- The next dollar: ");
  CHECK(tells(unset, "rate not given"));
  CHECK_FALSE(tells(unset, "$0"));
}

TEST_CASE("techniques that iterations added are told with what came of them",
          "[report][catalogue]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  log.add("iteration_opened", {{"iteration", 1},
                               {"parent", k_start},
                               {"variant", "v1"},
                               {"variant_id", "id-of-v1"},
                               {"configuration", Json::object()},
                               {"hypothesis", {{"theory", "t"}, {"predicted_speedup", 1.1}}},
                               {"techniques", {"split_kv", "query_tiling"}},
                               {"adds", {"split_kv", "exp2_softmax"}}});
  close_iteration(log, 1, "no_gain");
  const std::string page = render_session(log.view());
  // One line an iteration: its figure is that of both together.
  const std::string opened = "[e" + std::to_string(log.view().iterations[1].opened.seq) + "]";
  const std::string line = line_with(page, "- iteration 1 " + opened + ", no gain");
  CHECK(tells(line, ": `split_kv`, `exp2_softmax`"));
  CHECK_FALSE(tells(line, "query_tiling"));
  CHECK_FALSE(tells(render_session(whole_session().view()), "Techniques of the catalogue"));
}

TEST_CASE("a technique is credited only where it can act", "[report][handover]") {
  LogBuilder log = whole_session();
  SessionView& view = log.view();
  view.iterations[1].opened.payload["adds"] = {"causal_load_balance", "split_kv"};
  const auto page_with = [&view](const std::string& causal) {
    const std::string problem = "B=1 Hq=2 Hkv=2 Sq=128 Skv=128 D=64 f32 causal=" + causal;
    view.opened.payload["suite"]["problems"][0]["problem"] = problem;
    Json& problems = view.opened.payload["suite"]["problems"];
    while (problems.size() > 1) problems.erase(1);
    return render_session(view);
  };
  CHECK(tells(page_with("none"),
              "`split_kv`; on no problem of the suite can it act: `causal_load_balance`"));
  CHECK(tells(page_with("top_left"), ": `causal_load_balance`, `split_kv`"));
}

TEST_CASE("the page of one iteration says where the loop stands and what comes next",
          "[report][handover]") {
  const LogBuilder log = advised();
  const IterationView& lost = log.view().iterations[2];
  const std::string page = render_iteration_report(log.view(), lost);
  INFO(page);
  CHECK(tells(page, "# Iteration 2 of session"));
  CHECK(tells(line_with(page, "Date: "), "Status: no gain [e" + std::to_string(lost.closed->seq)));
  CHECK(tells(page, "## Where the loop stands"));
  CHECK(tells(page, "this one"));
  CHECK(tells(page, "`sdpa-wb diagnose --iteration 2`"));
  CHECK(tells(page, "## Next iteration"));
  // All of the committed page is in it.
  const std::string committed = render_iteration(log.view(), lost);
  const auto body = committed.find("## Build");
  const std::string verdicts = committed.substr(body, committed.rfind("\n---\n") - body);
  CHECK(tells(page, verdicts));
}

TEST_CASE("handover and iteration pages come out of any roadmap", "[report][hostile]") {
  for (const Json& payload :
       {Json(), Json::object(), Json{{"stages", 3}}, Json{{"stages", {1, nullptr}}},
        Json{{"stages", {{{"techniques", {"x"}}}}}, {"entries", {1, {{"technique", 3}}}}},
        Json{{"stages", {{{"techniques", {"x"}}}}}, {"entries", {{{"technique", "x"}}}}}}) {
    auto log = advised();
    log.view().roadmap = Fact{9, "", payload};
    CHECK_FALSE(render_handover(log.view()).empty());
    for (const IterationView& one : log.view().iterations) {
      CHECK_FALSE(render_iteration_report(log.view(), one).empty());
    }
    CHECK_FALSE(render_session(log.view()).empty());
  }
}

TEST_CASE("pages that hand work over show problem, cure, changed lines and the check",
          "[report][handover]") {
  const LogBuilder log = advised();
  catalogue::LoopFamily slow, fast;
  slow.title = "keys in series";
  slow.walks = "all keys one after another";
  fast.title = "keys split";
  fast.walks = "parts side by side";
  report::PageSources sources;
  sources.start = {k_start, &slow, true};
  sources.winner = {"cpu_tiled@1f0c44a1", &fast, true};
  sources.changes[1].files.push_back(
      {.path = "kernel.cpp", .added = 3, .removed = 1, .lines = {{40, 52}}});
  for (const std::string& page :
       {render_handover(log.view(), &sources), render_bottleneck(log.view(), &sources)}) {
    INFO(page);
    CHECK(tells(page, "## In short"));
    CHECK(tells(page, "# problem: cpu_unfused@5a11ce00, keys in series"));
    CHECK(tells(page, "    order: parts side by side"));
    CHECK(tells(page, "- iteration 1: `kernel.cpp` lines 40 to 52 (3 added, 1 removed)"));
    CHECK(tells(page, "should print `cpu_tiled@1f0c44a1: pass`"));
    CHECK(tells(page, "should say faster, about 2.89x [e"));
  }
  const std::string won = render_iteration_report(log.view(), log.view().iterations[1], &sources);
  CHECK(tells(won, "## What it changed\n\n`kernel.cpp` lines 40 to 52"));
  CHECK_FALSE(tells(render_iteration_report(log.view(), log.view().iterations[2], &sources),
                    "## What it changed"));
  LogBuilder none;
  open_session(none);
  run_baseline(none);
  CHECK_FALSE(tells(render_handover(none.view(), &sources), "## Problem and cure"));
}
