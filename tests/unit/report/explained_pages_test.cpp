// SPDX-License-Identifier: MIT
// What the pages about bottlenecks, causes and fixes derive: the drawing of a key walk, one size at
// a time, threads at work, where a fix is, times after it.
#include <cmath>

#include "core/json.hpp"
#include "device/device.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

constexpr const char* k_gpu_start = "walk@5a11ce00";

/// The cells of the first table row of `page` that has `cell` as its first or second one.
std::vector<std::string> row_with(const std::string& page, const std::string& cell) {
  std::size_t at = 0;
  while ((at = page.find("\n|", at)) != std::string::npos) {
    const std::size_t end = page.find('\n', ++at);
    const std::string line = page.substr(at, end - at);
    std::vector<std::string> cells;
    for (std::size_t i = 1; i < line.size();) {
      const std::size_t bar = std::min(line.find('|', i), line.size());
      const std::string one = line.substr(i, bar - i);
      const auto first = one.find_first_not_of(' ');
      cells.push_back(first == std::string::npos
                          ? std::string()
                          : one.substr(first, one.find_last_not_of(' ') - first + 1));
      i = bar + 1;
    }
    const bool is_it = cells.size() > 1 && (cells[0] == cell || cells[1] == cell);
    if (is_it) return cells;
  }
  FAIL("no row of " + cell + " in:\n" + page);
  return {};
}

std::string section_under(const std::string& page, const std::string& heading) {
  const auto at = page.find(heading + "\n");
  REQUIRE(at != std::string::npos);
  return page.substr(at, page.find("\n## ", at + 3) - at);
}

/// A session on a GPU whose start alone was measured, on these problems with these times.
LogBuilder on_gpu(const std::vector<std::pair<std::string, double>>& problems) {
  LogBuilder log;
  Json opened = opened_payload();
  opened["backend"] = "cuda";
  opened["start_variant"] = "walk";
  opened["suite"]["problems"] = Json::array();
  for (const auto& [problem, us] : problems) {
    opened["suite"]["problems"].push_back(
        {{"problem", problem}, {"name", ""}, {"weight", 1.0}, {"held_out", false}});
  }
  log.add("session_opened", opened);
  log.add("environment_recorded",
          {{"device", to_json(*known_gpu("NVIDIA H200"))}, {"call_overhead_us", 1.0}});
  open_iteration(log, 0, k_gpu_start, "", 0);
  build(log, 0, k_gpu_start);
  judge(log, 0, k_torch, problems.front().first, 0.4);
  for (const auto& [problem, us] : problems) {
    compare(log, 0,
            {.candidate = k_gpu_start,
             .against = k_torch,
             .role = "rival",
             .phase = "baseline",
             .problem = problem,
             .candidate_us = us,
             .against_us = us / 2,
             .speedup = 0.5,
             .low = 0.49,
             .high = 0.51,
             .outcome = "slower"});
  }
  log.view().incumbent = k_gpu_start;
  return log;
}

void launch(LogBuilder& log, const std::string& problem, const char* grid, const char* block,
            const Json& metrics = Json::object()) {
  log.add("profile_taken", {{"iteration", 0},
                            {"subject", k_gpu_start},
                            {"problem", problem},
                            {"tool", "ncu"},
                            {"available", true},
                            {"reason", ""},
                            {"records",
                             {{"launches",
                               {{{"kernel", "walk_kernel"},
                                 {"grid", grid},
                                 {"block", block},
                                 {"metrics", metrics},
                                 {"share_frac", 1.0}}}}}}});
}

LogBuilder closed_after(LogBuilder log, const char* outcome = "baseline") {
  close_iteration(log, 0, outcome);
  close_session(log, "finished");
  log.view().log_head = std::string(64, 'a');
  return log;
}

}  // namespace

TEST_CASE(
    "the walk over K and V is drawn from the launch: rows of each block, how often K is loaded",
    "[report][bottleneck]") {
  const std::string problem = "B=2 Hq=4 Hkv=4 Sq=200 Skv=300 D=64 f16 causal=none";
  LogBuilder log = on_gpu({{problem, 80}});
  launch(log, problem, "(4, 8, 1)", "(64, 1, 1)");  // 4 blocks a head of 200 rows: 50 each
  const std::string page = render_bottleneck(closed_after(std::move(log)).view());
  INFO(page);
  CHECK(tells(page, "up to key 299\n"));
  CHECK(tells(page, "\n0        q0 to q49      load K0 V0 > use > drop > load K1 V1"));
  CHECK(tells(page, "\n1        q50 to q99 "));
  CHECK_FALSE(tells(page, "\n2        q100"));  // left out, as blocks in the middle are
  CHECK(tells(page, "\n...\n3        q150 to q199 "));
  CHECK(tells(page, "K and V of a head are asked for 4 times (200 rows, 50 a block)"));
}

TEST_CASE("a last block with fewer rows, two blocks and one block are drawn as they are",
          "[report][bottleneck]") {
  const auto drawn = [](int rows, const char* grid) {
    const std::string problem = "B=1 Hq=1 Hkv=1 Sq=" + std::to_string(rows) +
                                " Skv=" + std::to_string(rows) + " D=64 f16 causal=none";
    LogBuilder log = on_gpu({{problem, 80}});
    launch(log, problem, grid, "(64, 1, 1)");
    return render_bottleneck(closed_after(std::move(log)).view());
  };
  const std::string two = drawn(65, "(2, 1, 1)");
  INFO(two);
  CHECK(tells(two, "\n0        q0 to q32 "));
  CHECK(tells(two, "\n1        q33 to q64 "));
  CHECK_FALSE(tells(two, "\n...\n"));
  CHECK(tells(drawn(64, "(1, 1, 1)"), "asked for once (64 rows, 64 a block)"));
  // Blocks that share out no rows evenly are not drawn.
  const std::string none = drawn(64, "(132, 1, 1)");
  CHECK_FALSE(tells(none, "load K0 V0"));
  CHECK(tells(none, "How its blocks walk over K and V is not known"));
}

TEST_CASE("a sweep over one size tells where the rate falls and by how much",
          "[report][bottleneck]") {
  const auto of_dim = [](int dim) {
    return "B=1 Hq=4 Hkv=4 Sq=64 Skv=64 D=" + std::to_string(dim) + " f32 causal=none";
  };
  // Four times the work at 2048 in the same time as at 512; at 8192 16 times the time of 2048.
  const LogBuilder log =
      closed_after(on_gpu({{of_dim(512), 20}, {of_dim(2048), 20}, {of_dim(8192), 320}}));
  const std::string page = section_under(render_bottleneck(log.view()), "### One size at a time");
  INFO(page);
  CHECK(row_with(page, "512").back() == "4x");
  CHECK(row_with(page, "2048").back() == "1x");
  CHECK(row_with(page, "8192").back() == "4x");
  // 4 B H S S D flops of f32 in 20 us.
  const double gflops = 4.0 * 4 * 64 * 64 * 2048 / 20e-6 / 1e9;
  CHECK(std::stod(row_with(page, "2048")[3]) == Approx(gflops).epsilon(1e-3));
  CHECK(tells(row_with(page, "2048")[2], "20.00 [e"));
  CHECK(tells(page, "The rate is best at D = 2048 and 4x lower at D = "));
  // 67 TFLOP/s of an H200 in f32: the share decides the verdict.
  CHECK(tells(row_with(page, "8192")[5], "very poor"));
}

TEST_CASE("where several sizes change at once no fall is laid to one", "[report][bottleneck]") {
  const LogBuilder log =
      closed_after(on_gpu({{"B=1 Hq=4 Hkv=4 Sq=64 Skv=64 D=512 f32 causal=none", 20},
                           {"B=1 Hq=1 Hkv=1 Sq=16 Skv=16 D=8192 f32 causal=none", 20}}));
  const std::string page = section_under(render_bottleneck(log.view()), "### One size at a time");
  CHECK(tells(page, "No two problems of the suite differ in one size only"));
  CHECK_FALSE(tells(page, "The rate is best"));
}

TEST_CASE("threads at work: a thread a row at least, at most the lanes that were seen",
          "[report][bottleneck]") {
  const std::string problem = "B=1 Hq=1 Hkv=1 Sq=128 Skv=128 D=64 f16 causal=none";
  LogBuilder log = on_gpu({{problem, 80}});
  launch(log, problem, "(2, 1, 1)", "(256, 1, 1)",
         {{"Avg. Active Threads Per Warp", {{"value", 24.0}, {"unit", ""}}}});
  const std::string page = render_bottleneck(closed_after(std::move(log)).view());
  const auto at = page.find("Threads of a block at work");
  REQUIRE(at != std::string::npos);
  const auto row = row_with(page.substr(at), "`walk_kernel`");
  INFO(page.substr(at, 900));
  CHECK(row[2] == "256");
  CHECK(row[4] == "64 (25 %)");
  CHECK(row[5] == "192 (75 %)");
}

TEST_CASE("where a change lies: lines of the new file", "[report][fixes]") {
  const std::string before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\n";
  const auto changed =
      file_change("kernel.cu", before, "a\nB1\nB2\nc\nd\ne\nf\ng\nh\ni\nk\nl\nm\nN\n");
  REQUIRE(changed.ok());
  CHECK(changed->added == 3);
  CHECK(changed->removed == 3);
  // b became lines 2 and 3; j went away after line 10; n became line 14.
  CHECK(changed->lines == std::vector<LineRange>{{2, 3}, {10, 10}, {14, 14}});
  const auto made = file_change("new.cu", "", "a\nb\n");
  REQUIRE(made.ok());
  CHECK(made->lines == std::vector<LineRange>{{1, 2}});
  CHECK(file_change("same", before, before)->lines.empty());
}

TEST_CASE("a fix tells its commit, its place and what its prediction meant in time",
          "[report][fixes]") {
  const LogBuilder log = explained_session();
  const SourceChanges changes{
      {1, {"", {{"kernel.cpp", 14, 3, {{40, 52}, {80, 80}}}, {"tile.cuh", 9, 0, {{1, 9}}, true}}}}};
  const std::string page = section_under(render_root_cause(log.view(), &changes), "## Fixes made");
  INFO(page);
  const std::string line = line_with(page, "- iteration 1, commit `");
  CHECK(tells(line, "[e" + std::to_string(log.view().iterations[1].committed->seq) + "]"));
  CHECK(tells(line,
              "`kernel.cpp` lines 40 to 52, 80 (14 added, 3 removed); `tile.cuh` (new, 9 lines)"));
  // 5209 us before, 2.50x predicted, 1802 us measured.
  const auto row = row_with(page.substr(page.find("Times, if each")), "prefill");
  CHECK(std::stod(row[3]) == Approx(5209 / 2.5).epsilon(1e-3));
  CHECK(row[5] == "reached");
  const auto missed = row_with(page.substr(page.find("Times, if each")), "decode");
  CHECK(tells(missed[5], "missed, 1.03x the time"));  // 910.9 / 2.5 = 364.4, measured 373.6
  CHECK(tells(section_under(render_root_cause(log.view()), "## Fixes made"),
              "the sources are not at hand"));
}

TEST_CASE("pages say of an open cause what decides it, and of groups where they differ",
          "[report][causes]") {
  const LogBuilder log = explained_session();
  SessionView view = log.view();
  Json decided = view.causes->payload;
  Json& open = decided["causes"][1];
  REQUIRE(open["state"] == "undecided");
  open["decided_by"] = {{"command", "sdpa-wb profile cpu_tiled@1f0c44a1 --problem 'B=1 Hq=8'"},
                        {"probe", "profile"},
                        {"counter", "launch__grid_size"},
                        {"brings", "the blocks"}};
  decided["causes"][0]["groups"] = {
      {{"group", "lost to a rival"},
       {"problems", {"prefill"}},
       {"state", "supported"},
       {"supported", 1}},
      {{"group", "won"}, {"problems", {"decode"}}, {"state", "refuted"}, {"supported", 0}}};
  view.causes->payload = decided;
  const std::string page = render_root_cause(view);
  const std::string summary = section_under(page, "## Summary");
  INFO(summary);
  CHECK(tells(summary, "the first is decided by the blocks (`sdpa-wb profile cpu_tiled@1f0c44a1"));
  CHECK(tells(summary, "lost to a rival: supported on 1 of 1; won: refuted"));
  // One measurement, not a list of all that the registry knows.
  const std::string text = render_causes(decided);
  CHECK(tells(text, "ncu's `launch__grid_size`"));
  CHECK_FALSE(tells(text, "how time grows with keys"));
  // Nothing can be had: it is said. Groups that agree are not told apart.
  decided["causes"][1]["decided_by"] = nullptr;
  decided["causes"][0]["groups"][1]["state"] = "supported";
  CHECK(tells(render_causes(decided), "nothing that can be measured here"));
  CHECK_FALSE(tells(render_causes(decided), "lost to a rival"));
}

TEST_CASE("the status of causes counts those that cannot be at work for themselves",
          "[report][causes]") {
  const LogBuilder log = explained_session();
  SessionView view = log.view();
  Json& causes = view.causes->payload["causes"];
  Json elsewhere = causes[0];
  elsewhere["cause"] = "bank_conflicts";
  elsewhere["state"] = "refuted";
  elsewhere["not_applicable"] = "this cause exists on cuda only";
  causes.push_back(elsewhere);
  CHECK(tells(render_root_cause(view),
              "Status: 1 cause supported, 1 refuted, 1 undecided; 1 cannot be at work here."));
}

TEST_CASE("the start was held up by what a winning step removed, and by nothing else",
          "[report][causes]") {
  const LogBuilder log = explained_session();
  SessionView view = log.view();
  Json& start = view.causes->payload["start"];
  // Logs from before steps were asked name all that the incumbent lacks.
  CHECK(tells(render_root_cause(view), "Root cause of the start"));
  start["held_up_by"] = Json::array();
  CHECK_FALSE(tells(render_root_cause(view), "Root cause of the start"));
  start["held_up_by"] = {"under_utilisation"};
  start["causes"][0]["removed_by"] = {
      {"iteration", 1}, {"event", 40}, {"speedup", 2.1}, {"techniques", {"split_kv"}}};
  CHECK(tells(render_root_cause(view), "; iteration 1 removed it by `split_kv` (2.10x) [e40]"));
}

TEST_CASE("the room says what sets the bound, by the present rule", "[report][causes]") {
  const std::string problem = "B=1 Hq=1 Hkv=1 Sq=64 Skv=64 D=64 f16 causal=none";
  LogBuilder log = on_gpu({{problem, 80}});
  // What an older version found: the distance to the FLOPs alone, a hundredth of an empty call.
  find_roofline(log, 0, problem, 1e-4);
  const std::string page = render_root_cause(closed_after(std::move(log)).view());
  INFO(page);
  CHECK(tells(page, "up to 80x of room on "));
  CHECK(tells(page, "(bound: an empty call of 1 us)"));
}

TEST_CASE("launches that the log recorded stand on the page of bottlenecks",
          "[report][bottleneck]") {
  const std::string problem = "B=2 Hq=4 Hkv=4 Sq=200 Skv=300 D=64 f16 causal=none";
  LogBuilder log = on_gpu({{problem, 80}});
  const auto seen = log.add("launches_recorded", {{"iteration", 0},
                                                  {"subject", k_gpu_start},
                                                  {"problem", problem},
                                                  {"launches",
                                                   {{{"kernel", "walk_kernel"},
                                                     {"grid", {4, 8, 1}},
                                                     {"block", {64, 1, 1}},
                                                     {"per_call", 1},
                                                     {"dynamic_shared_bytes", 0},
                                                     {"static_shared_bytes", 1024},
                                                     {"registers", 64},
                                                     {"local_bytes", 0},
                                                     {"blocks_per_sm", 8}}}}});
  const std::string page = render_bottleneck(closed_after(std::move(log)).view());
  INFO(page);
  CHECK_FALSE(tells(page, "No tool saw a launch."));
  CHECK(tells(page, "K and V of a head are asked for 4 times (200 rows, 50 a block)"));
  CHECK(tells(page, "[e" + std::to_string(seen) + "]"));
}

TEST_CASE("after the fix: the gain is that of the problems where the cause is at work",
          "[report][fixes]") {
  const LogBuilder log = explained_session();
  // A mean over the suite alone is the gain of no problem.
  SessionView older = log.view();
  older.causes->payload["causes"][0].erase("gain_there");
  CHECK(row_with(section_under(render_root_cause(older), "## After the fix"), "prefill")[3] ==
        "not known");
  const std::string page = section_under(render_root_cause(log.view()), "## After the fix");
  INFO(page);
  // 1.00x to 4.00x, expected 1.96x, on this problem; half of that over the suite.
  const auto at_work = row_with(page, "prefill");
  CHECK(at_work[1] == "yes");
  double expected = 0, fast = 0, slow = 0;
  REQUIRE(std::sscanf(at_work[3].c_str(), "%lf (%lf to %lf)", &expected, &fast, &slow) == 3);
  CHECK(expected == Approx(1802 / (1.4 * 1.4)).epsilon(1e-3));
  CHECK(fast == Approx(1802 / (2.0 * 2.0)).epsilon(1e-3));
  CHECK(slow == Approx(1802).epsilon(1e-3));
  CHECK(at_work[7] == "as fast as the rival");
  const auto elsewhere = row_with(page, "decode");
  CHECK(elsewhere[3] == "as now");
  CHECK(elsewhere[7] == "within 4x");
}
