// SPDX-License-Identifier: MIT
// The report of two pages: its size, statements that must stand there and statements that must not.
// Those of the kept sessions were taken from their logs (`sdpa-wb show`), not from the page.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

namespace {

constexpr std::ptrdiff_t k_most_page_words = 900;
constexpr std::size_t k_most_tables = 5, k_most_table_rows = 8;

session::SessionView archived(const fs::path& archive) {
  INFO(archive.string());
  const RealFileSystem file_system;
  const auto storage = session::open_storage(file_system, archive);
  REQUIRE(storage.ok());
  auto log = session::EventLog::open_reader(**storage);
  REQUIRE(log.ok());
  auto view = session::fold(*log, session::FoldDepth::full);
  REQUIRE(view.ok());
  return *std::move(view);
}

std::vector<std::string> page_lines(const std::string& page) {
  std::vector<std::string> lines{""};
  for (const char c : page) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

/// Checks the size of the page and that it cites events of the log only; returns it.
std::string two_pages(const session::SessionView& view) {
  std::string page = report::render_summary(view);
  INFO(page);
  const std::regex word(R"(\S*[A-Za-z0-9]\S*)");
  const auto words =
      std::distance(std::sregex_iterator(page.begin(), page.end(), word), std::sregex_iterator());
  CHECK(words <= k_most_page_words);
  std::size_t tables = 0, rows = 0;
  for (const std::string& line : page_lines(page)) {
    if (line.starts_with("|--")) {
      ++tables;
      rows = 0;
    } else if (line.starts_with("|")) {
      ++rows;
      CHECK(rows <= k_most_table_rows);
    } else {
      rows = 0;
    }
  }
  CHECK(tables <= k_most_tables);
  const std::regex event(R"(\[e(\d+)\])");
  for (std::sregex_iterator at(page.begin(), page.end(), event), end; at != end; ++at) {
    const std::int64_t seq = std::stoll((*at)[1]);
    CHECK(seq >= 1);
    CHECK(seq <= view.events);
  }
  CHECK(tells(page, "`sdpa-wb report --kind full`"));
  CHECK(tells(page, "session_full.md"));
  return page;
}

struct Statements {
  const char* session;
  std::vector<std::string> must, must_not;
};

std::string pages_of(const Story& story) {
  return two_pages(story.view());
}

/// One win over the start, without a word of rivals.
Story one_win() {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "win");
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "mine@2", .against = "base@1", .speedup = 2});
  }
  return story;
}

}  // namespace

TEST_CASE("two pages of kept sessions say what their logs say", "[report][summary]") {
  const Statements expected = GENERATE(
      Statements{
          "ladder",
          {"Dispatch by problem: sm80_mma_flash@b4ef2ed2 on 8, sm90_wgmma_carry@e5bd03a3 on 3",
           "1.85x [1.83, 1.86] over the fastest rival on average [e4646] to [e6288], ahead on 11 "
           "of 11.",
           "0 of 11 problems to a rival.", "iteration 5, 6.87x [e4670]", "iteration 7",
           "$0.87 (list price)",
           "8 iterations closed after the baseline: 4 won (faster than the best before), 2 slower, "
           "1 slower overall, used on 3, 1 not decided.",
           "1.85x over the rivals, if it holds; 1.66x by one variant",
           "held against the rivals in separate runs", "Not yet confirmed in one run.",
           // 4 of the 11 problems are short; the three that the dispatch is about are none of them.
           "What limits it now on 4 of 11 problems (n6_S64, n6_S128, n6_S192 and 1 more): the cost "
           "of a call. Proof:",
           "Elsewhere not settled: the likeliest on ",
           "It helped as predicted (6.00x [e4019]). It made `sm80_mma_flash@b4ef2ed2`.",
           "Correctness: all ", "2 problems held out: ", "All are D64, f16."},
          {"keep the rivals", "Keep it there", "Do not try again", "un iterations",
           "Slower than the start", "refuted", " ..", "What limits it now: the cost of a call",
           "confirmed that it helps", "halved", "e+0", "keys^"}},
      Statements{
          "n6-baseline",
          {"Use torch_flash on 8 problems and torch_default on n6_S4, n6_S192, n6_S256: each is "
           "ahead of the best "
           "variant here. The best own choice reaches 0.224x of them on average. To go on, develop "
           "sm80_tiled_flash@637b81d9",
           "Use the rivals if these hold:",
           "`sm80_tiled_flash@637b81d9` reaches 0.21x of them on average, so it must become 4.67x",
           "Measure again when `torch_flash` or `torch_default` changes; they were cuda 13.0",
           "0.224x [0.221, 0.227] over the fastest rival", "11 of 11 problems to a rival: n6_B8H4",
           "alone is slower than the start on n6_B8H4 0.88x [e2262] to [e5902]",
           "iteration 3, 1.36x [e4786]", "takes 6.17 times the time",
           "Find out why n6_B8H4 is slower than `torch_flash`", "4 iterations took 4 min",
           "baseline and other measurements 1 min",
           "It helped, far less than predicted (5.00x [e3630]).",
           "`sm80_tiled_flash@637b81d9` came in iteration 4: the second pass is a launch of its "
           "own",

           "4 iterations closed after the baseline: 4 won (faster than the best before).",
           "$0.40 (list price)"},
          {"none is supported", "un iterations", "Nothing was shown faster", "rate not given",
           "refuted", " ..", "What limits it now: matrix units unused", "Dispatch by problem",
           "Confirm the dispatch", "Keep it there", "Not yet confirmed", "keys^"}},
      Statements{"from-benchmarks",
                 {"Use sm80_mma_flash@b4ef2ed2 in place of the start; keep torch_default on "
                  "it3_B8H8S256, it3_B16H8S512.",
                  "ahead on 3 of 5, behind on 2.", "Over the start it is 30.7x [30.4, 31.1]",
                  "2 of 5 problems to a rival: it3_B16H8S512 0.744x of `torch_default` [e3934], "
                  "it3_B8H8S256 0.976x of `torch_default` [e3933].",
                  "iteration 6, 6.51x [e3978]", "Cold no gain is shown: 1.02x [0.99, 1.05] [e3973]",
                  "1.40x [e1135] | 1.39x [e1679] | won", "Keep it there.", "$0.47 (list price)"},
                 {"refuted", "find what holds", "un iterations"}},
      Statements{
          "large-head-dims",
          {"Use sm90_cluster_large_hdim@cf713494 in place of the start and of torch_math.",
           "ahead on 4 of 4.", "Over the start it is 8.81x [8.79, 8.83] [e2095].",
           "0 of 4 problems to a rival.",
           "The one step that won was iteration 3, 8.81x [e2095]: a cluster splits the head dim",
           "0.70x [e1131] | slower", "0.59x [e1609] | slower", "$0.15 (list price)",
           "Measure again when `torch_math` changes; it was",
           "problems like these 4 on NVIDIA H200, hot burst: f32, B 1, "},
          {"3.16x", "un iterations", "split_kv", "`torch_default` changes"}},
      Statements{
          "h200-part2-whole",
          {"5 of 6 reached; missed: D 64.", "geometric mean 1.20 asked for, 1.181 reached [e711]",
           "1.139x [1.135, 1.144] over the fastest rival",
           "ahead on 43 of 45, the same on 1, "
           "behind on 1.",
           "1 of 45 problems to a rival: B32_H8_S512_D256_bf16 0.942x of `torch_default` [e1324].",
           "keep torch_default on B32_H8_S512_D256_bf16",
           "Measure kernels beside rivals on 45 problems, hot sustained.", "Reach the goal D 64",
           "1.6 % more reaches the goal [e711]",
           "No iteration was run: kernels were only compared.", "Not debited: 1350 turns",
           "Why `sm90_wgmma_carry@a5b3a5f4` is ahead is not known"},
          {"un iterations", "None yet", "fa_D64", "What limits it now", "0 of 1", "Keep the start",
           "rate not given", "Nothing was shown faster", "Make `", "between iterations"}},
      Statements{
          "hopper-prefill",
          {"Use sm90_wgmma_carry@03a6216e in place of the start and of torch_default.",
           "ahead on 3 of 4, undecided on "
           "1.",
           "Over the start it is 1.80x [1.77, 1.83]", "iteration 1, 1.34x [e551]",
           "8 iterations closed after the baseline: 6 won (faster than the best before), 2 not "
           "decided.",
           "$0.60 (list price)"},
          {"polynomial", "Repeat iteration", "un iterations", "refuted", "Slower than the start"}});
  INFO(expected.session);
  const std::string page =
      two_pages(archived(source_dir() / "sessions" / (std::string(expected.session) + ".tar.gz")));
  for (const std::string& words : expected.must) {
    INFO(words);
    CHECK(tells(page, words));
  }
  for (const std::string& words : expected.must_not) {
    INFO(words);
    CHECK(page.find(words) == std::string::npos);
  }
}

TEST_CASE("two pages hold their size for every kept session", "[report][summary]") {
  std::size_t sessions = 0;
  for (const auto& file : fs::directory_iterator(source_dir() / "sessions")) {
    if (!file.path().string().ends_with(".tar.gz")) continue;
    ++sessions;
    const session::SessionView view = archived(file.path());
    const std::string page = two_pages(view);
    CHECK(page == report::render_summary(view));
  }
  CHECK(sessions >= 40);
}

TEST_CASE("two pages hold their size whatever was written into the session", "[report][summary]") {
  Story story;
  story.baseline();
  const std::string label = "a_kernel_with_a_long_name_" + std::string(40, 'x');
  for (int n = 1; n <= 60; ++n) {
    story.iteration(n, label + "@" + std::to_string(n), n % 3 == 0 ? "win" : "invalid");
  }
  session::SessionView view = story.view();
  std::string words;
  for (int i = 0; i < 300; ++i) words += "word ";
  for (session::IterationView& iteration : view.iterations) {
    iteration.opened.payload["hypothesis"] = {{"theory", words + std::to_string(iteration.number)},
                                              {"predicted_speedup", 1.5}};
  }
  view.opened.payload["title"] = words;
  view.closed = session::Fact{view.events, "", {{"reason", words}, {"recommendation", words}}};
  view.status = session::SessionStatus::closed;
  for (int i = 0; i < 20; ++i) {
    view.notes.push_back({1,
                          "",
                          {{"text", "part " + std::to_string(i) +
                                        ": geometric mean 1.20 "
                                        "asked for, 1.300 reached; lowest a 1.1; goal "
                                        "reached"}}});
  }
  CHECK(tells(two_pages(view), "20 of 20 reached."));
}

TEST_CASE("two pages escape the words of others", "[report][summary]") {
  session::SessionView view = one_win().close().view();
  view.iterations[1].opened.payload["hypothesis"]["theory"] = "a | b <b>c</b> [d](e)";
  view.opened.payload["title"] = "<script>";
  const std::string page = two_pages(view);
  CHECK(tells(page, "a \\| b &lt;b&gt;c&lt;/b&gt; \\[d\\](e)"));
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find("<script>") == std::string::npos);
}

TEST_CASE("two pages without a rival say that its place is not known", "[report][summary]") {
  session::SessionView view = one_win().close().view();
  CHECK(tells(two_pages(view), "No rival has a figure beside it."));
  view.opened.payload["rivals"] = Json::array();
  const std::string page = two_pages(view);
  CHECK(tells(page, "No rival was named."));
  CHECK(tells(page, "No rival was measured, so its place beside others is not known."));
  CHECK(tells(page, "- **Lost:** no rival was measured."));
  // Columns about rivals would be empty.
  CHECK(page.find("over the fastest rival |") == std::string::npos);
  CHECK(page.find("| place") == std::string::npos);
  CHECK(tells(page, " over the start |"));
  CHECK(tells(page, "Measure a rival that passes its verdict"));
  CHECK(tells(page, "Use mine@2 in place of the start."));
  CHECK(page.find("ahead on") == std::string::npos);
}

TEST_CASE("two pages about one problem speak of one", "[report][summary]") {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "win");
  story.add(1, {.problem = k_small, .candidate = "mine@2", .against = "base@1", .speedup = 2});
  const std::int64_t rival = story.add(1, {.problem = k_small,
                                           .candidate = "mine@2",
                                           .against = "torch_a",
                                           .speedup = 0.5,
                                           .role = "rival"});
  session::SessionView view = story.close().view();
  view.opened.payload["suite"]["problems"].erase(1);
  const std::string page = two_pages(view);
  CHECK(tells(page, "faster on 1 problem of suite `two`"));
  CHECK(tells(page, "- **Lost:** 1 of 1 problem to a rival: small 0.500x of `torch_a` [e" +
                        std::to_string(rival) + "]."));
  CHECK(tells(page, "up to 2.00x there"));
}

TEST_CASE("two pages without a win keep the start", "[report][summary]") {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "no_gain");
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "mine@2", .against = "base@1", .speedup = 0.7});
  }
  const std::string page = pages_of(story.close());
  CHECK(tells(page, "Nothing was shown faster than the start."));
  CHECK(
      tells(page, "- **Recommendation:** Keep the start base@1: no other variant is shown faster"));
  CHECK(tells(page, "Keep the start: no other variant is shown faster"));
  CHECK(tells(page, "1 iteration closed after the baseline: 1 no gain."));
  CHECK(page.find("Over the start it is") == std::string::npos);
}

TEST_CASE("two pages of failures alone name them", "[report][summary]") {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "invalid");
  story.iteration(2, "mine@3", "abandoned");
  session::SessionView view = story.view();
  view.iterations[1].closed->payload["invalidity"] = "compile";
  view.iterations[1].opened.payload["hypothesis"]["theory"] = "wider loads";
  const std::string page = two_pages(view);
  CHECK(tells(page, "2 iterations closed after the baseline: 1 failed, 1 not decided."));
  CHECK(tells(page, "failed: compile"));
  CHECK(tells(page, "Mend iteration 1: wider loads"));
  CHECK(tells(page, "Repeat iteration 2"));
  CHECK(tells(page, "- **Result:** None: no iteration gave a figure that counts."));
  CHECK(page.find("ahead on") == std::string::npos);
  CHECK(page.find("The largest step") == std::string::npos);
}

TEST_CASE("two pages of a log that is cut off anywhere", "[report][summary]") {
  const LogBuilder whole = whole_session();
  const std::size_t n = whole.events().size();
  for (std::size_t i = 1; i < n; ++i) {
    INFO(i);
    const std::string page = two_pages(whole.prefix(i).view());
    CHECK(page.find("Closed") == std::string::npos);
    CHECK((tells(page, "not closed") || tells(page, "Not closed")));
    CHECK(tells(page, "sdpa-wb resume"));
  }
  CHECK(tells(two_pages(whole.view()), "Closed"));
}

namespace {

/// A cause with one piece of evidence for it.
Json proved(const std::string& title, const std::string& strength, const std::string& analysis) {
  Json evidence{
      {"says", "supported"},  {"strength", strength},
      {"analysis", analysis}, {"statement", "derived, not measured: what was seen of " + title},
      {"problem", ""},        {"events", Json::array({1})}};
  return {{"cause", title},       {"title", title},
          {"state", "supported"}, {"strength", strength},
          {"share_frac", 1.0},    {"evidence", Json::array({std::move(evidence)})}};
}

session::Fact decided_for(const std::string& subject, Json causes) {
  return {1, "", {{"subject", subject}, {"causes", std::move(causes)}}};
}

std::string page_with_causes(Json causes) {
  session::SessionView view = one_win().close().view();
  const Json device{{"name", "NVIDIA H200"}, {"backend", "cuda"}};
  view.environment = session::Fact{1, "", Json::object({{"device", device}})};
  view.causes = decided_for("mine@2", std::move(causes));
  return two_pages(view);
}

}  // namespace

TEST_CASE("two pages call a limit settled only where it was seen at work", "[report][summary]") {
  const std::string measured =
      page_with_causes(Json::array({proved("memory bandwidth", "strong", "roofline_share")}));
  CHECK(tells(measured, "What limits it now: memory bandwidth. Proof: what was seen of memory"));
  CHECK(measured.find("ot settled") == std::string::npos);
  // Spills of a build cost nothing that a clock has seen.
  const std::string built =
      page_with_causes(Json::array({proved("register pressure", "strong", "ptxas")}));
  CHECK(tells(built, "Not settled: the likeliest is register pressure (seen in the build alone: "));
  CHECK(tells(built, std::string("; `sdpa-wb profile mine@2 --problem '") + k_small +
                         "'` would decide it."));
  CHECK(built.find("limits it now") == std::string::npos);
  const std::string derived =
      page_with_causes(Json::array({proved("matrix units unused", "derived", "configuration")}));
  CHECK(tells(derived,
              "Not settled: the likeliest is matrix units unused (derived, not measured: "
              "what was seen of"));
  CHECK(tells(derived, "; `sdpa-wb show mine@2 --sass` would decide it."));
  // A weak cause that stands first in the log does not hide a measured one.
  const std::string both = page_with_causes(
      {proved("narrow loads", "weak", "sass"), proved("memory bandwidth", "strong", "profile")});
  CHECK(tells(both, "What limits it now: memory bandwidth."));
  Json open = proved("too few blocks", "", "launch");
  open["state"] = "undecided";
  open["evidence"] = Json::array();
  open["decided_by"] = {{"command", "sdpa-wb measure mine@2"}};
  CHECK(tells(page_with_causes(Json::array({open})),
              "Not settled: no measurement decides too few blocks; "
              "`sdpa-wb measure mine@2` would decide it."));
}

TEST_CASE("two pages whose causes are of another variant say so", "[report][summary]") {
  session::SessionView view = one_win().close().view();
  view.causes = decided_for("other@9", Json::array({proved("narrow loads", "strong", "sass")}));
  const std::string page = two_pages(view);
  CHECK(tells(page, "this session looked for the causes of `other@9` alone"));
  CHECK(page.find("narrow loads") == std::string::npos);
}

TEST_CASE("two pages say that a budget of zero lets nothing run", "[report][summary]") {
  Story story;
  story.baseline();
  session::SessionView view = story.close().view();
  view.opened.payload["budget"] = {{"evaluations", 0}, {"usd", 0.0}};
  const std::string page = two_pages(view);
  CHECK(tells(page, "Budget: 0 evaluations, $0.00. With a budget of zero no iteration may run."));
  CHECK(tells(page, "No iteration was run."));
  CHECK(tells(page, "Nothing was debited."));
}

TEST_CASE("two pages keep regimes apart", "[report][summary]") {
  Story story = one_win();
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem,
                  .candidate = "mine@2",
                  .against = "torch_a",
                  .speedup = 1.5,
                  .role = "rival"});
    story.add(std::nullopt, {.problem = problem,
                             .candidate = "mine@2",
                             .against = "torch_a",
                             .speedup = 0.8,
                             .phase = "standalone",
                             .role = "rival",
                             .regime = "sustained"});
  }
  const std::string page = pages_of(story.close());
  CHECK(tells(page, "ahead on 2 of 2."));
  CHECK(tells(page,
              "Measured apart, hot sustained: `mine@2` is ahead on 0 of 2, behind on "
              "2, 0.800x"));
}

TEST_CASE("two pages of old and of empty logs", "[report][summary]") {
  const session::SessionView old = archived(source_dir() / "tests/data/session_v1.tar.gz");
  const std::string won = two_pages(old);
  CHECK(tells(won, "Use cpu_tiled@b5763b40 in place of the start."));
  CHECK(tells(won, "Over the start it is 1.60x [1.50, 1.70] [e23]."));
  CHECK(tells(won, "- **Lost:** no rival was measured."));
  CHECK(tells(won,
              "2 iterations closed after the baseline: 1 won (faster than the best before), 1 not "
              "decided."));
  CHECK(tells(won, "$0.003100 + tokens (rate not given)"));
  for (const char* wrong : {"un iterations", "None: no iteration", "nothing is measured"}) {
    CHECK_FALSE(tells(won, wrong));
  }
  session::SessionView empty;
  empty.events = 1;
  const std::string page = two_pages(empty);
  CHECK(tells(page, "problems that the log does not name"));
  CHECK(tells(page, "Nothing was compared, so there is no cause to name."));
  CHECK(tells(page, "None yet: the baseline was not begun."));
}

}  // namespace wb::test
