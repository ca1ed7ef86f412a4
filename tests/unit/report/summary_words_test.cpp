// SPDX-License-Identifier: MIT
// Words of the report of two pages: what became of predictions, where the taken variants come from,
// and what the table of problems shows.
#include <algorithm>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "report/summary.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using report::two_pages::prediction_words;

namespace {

constexpr const char* k_wide = "B=8 Hq=4 Hkv=4 Sq=512 Skv=512 D=128 f16 causal=none";

/// Where an iteration stands in the view: the baseline is the first.
session::IterationView& tried(session::SessionView& view, std::int64_t number) {
  return view.iterations[static_cast<std::size_t>(number)];
}

void predict(session::SessionView& view, std::int64_t number, const std::string& theory,
             double predicted, double measured, const std::string& size,
             const std::string& mechanism = "confirmed") {
  session::IterationView& iteration = tried(view, number);
  iteration.opened.payload["hypothesis"] = {{"theory", theory}, {"predicted_speedup", predicted}};
  iteration.hypothesis = session::Fact{view.events,
                                       "",
                                       {{"predicted_speedup", predicted},
                                        {"measured_speedup", measured},
                                        {"mechanism", mechanism},
                                        {"mechanism_reason", "r"},
                                        {"size", size},
                                        {"size_reason", "r"}}};
}

std::string said_of(double predicted, double measured, const std::string& size,
                    const std::string& mechanism = "confirmed") {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "win");
  session::SessionView view = story.view();
  predict(view, 1, "t", predicted, measured, size, mechanism);
  return prediction_words(tried(view, 1));
}

/// A win of iteration `number` over `against` on both problems and on the suite.
void add_win(Story& story, std::int64_t number, const std::string& label,
             const std::string& against, double small, double large) {
  story.iteration(number, label, "win");
  story.add(number, {.problem = k_small, .candidate = label, .against = against, .speedup = small});
  story.add(number, {.problem = k_large, .candidate = label, .against = against, .speedup = large});
  story.add(
      number,
      {.problem = {}, .candidate = label, .against = against, .speedup = (small + large) / 2});
}

}  // namespace

TEST_CASE("what became of a prediction says by which size", "[report][summary]") {
  CHECK(said_of(5.0, 1.36, "below").starts_with("It helped, far less than predicted (5.00x [e"));
  CHECK(said_of(1.5, 1.3, "below").starts_with("It helped, less than predicted (1.50x [e"));
  CHECK(said_of(5.0, 8.8, "above").starts_with("It helped more than predicted (5.00x [e"));
  CHECK(said_of(1.4, 1.39, "within").starts_with("It helped as predicted (1.40x [e"));
  CHECK(tells(said_of(1.4, 1.2, "undecided"), "It helped; whether as much as predicted (1.40x"));
  CHECK(said_of(1.4, 0.9, "below", "not_confirmed") ==
        "The measurement does not show that it helps.");
  CHECK(said_of(1.4, 1.0, "undecided", "undecided") ==
        "Whether it helped for that reason was not decided.");
  Story open;
  open.baseline();
  open.iteration(1, "mine@2", "open");
  session::SessionView view = open.view();
  CHECK(prediction_words(tried(view, 1)) == "Whether it helped for that reason was not decided.");
}

TEST_CASE("two pages say where else a step gained than its hypothesis says", "[report][summary]") {
  const auto page_of = [](const std::string& theory, double narrow, double wide) {
    Story story;
    story.baseline();
    story.iteration(1, "mine@2", "win");
    for (const auto& [problem, speedup] : {std::pair(k_small, narrow), std::pair(k_wide, wide)}) {
      story.add(
          1, {.problem = problem, .candidate = "mine@2", .against = "base@1", .speedup = speedup});
    }
    story.add(1, {.problem = {},
                  .candidate = "mine@2",
                  .against = "base@1",
                  .speedup = (narrow + wide) / 2});
    session::SessionView view = story.close().view();
    view.opened.payload["suite"]["problems"][1]["problem"] = k_wide;
    predict(view, 1, theory, 1.4, (narrow + wide) / 2, "within");
    return report::render_summary(view);
  };
  const std::string elsewhere = page_of("longer steps at D 64; 1.4x there", 1.05, 1.8);
  CHECK(tells(elsewhere, "It is about D 64: there it is 1.05x [e"));
  CHECK(tells(elsewhere, "; most of the gain is on others, up to 1.80x [e"));
  CHECK(tells(page_of("on 64 queries of D 64, longer steps", 1.05, 1.8),
              "It is about D 64 with 64 queries: there it is 1.05x"));
  // It gained where it says, or its words name no problem plainly.
  for (const char* theory :
       {"longer steps at D 128; 1.4x there", "longer steps of 64 keys", "not D 64, but all others",
        "D 64 and 128 alike", "64 queries a block", "causal rows end early"}) {
    INFO(theory);
    CHECK_FALSE(tells(page_of(theory, 1.05, 1.8), "It is about"));
  }
  CHECK_FALSE(tells(page_of("longer steps at D 64", 1.8, 1.05), "It is about"));
  CHECK(tells(page_of("shorter rows on causal problems of D 64", 1.05, 1.8),
              "It helped as predicted (1.40x [e"));
}

TEST_CASE("two pages introduce every variant that is taken", "[report][summary]") {
  Story story;
  story.baseline();
  add_win(story, 1, "first@2", "base@1", 3, 3);
  add_win(story, 2, "second@3", "first@2", 1.2, 1.2);
  story.iteration(3, "third@4", "no_gain");
  story.add(3, {.problem = k_small, .candidate = "third@4", .against = "second@3", .speedup = 0.5});
  story.add(3, {.problem = k_large, .candidate = "third@4", .against = "second@3", .speedup = 1.5});
  story.add(3, {.problem = {}, .candidate = "third@4", .against = "second@3", .speedup = 0.9});
  session::SessionView view = story.close().view();
  predict(view, 1, "tiles are shared", 2, 3, "above");
  predict(view, 2, "loads are wider", 1.2, 1.2, "within");
  predict(view, 3, "blocks stay", 1.2, 0.9, "below", "not_confirmed");
  const std::string page = report::render_summary(view);
  CHECK(tells(page, "The largest step was iteration 1, 3.00x [e"));
  CHECK(tells(page, "tiles are shared. It helped more than predicted (2.00x [e"));
  CHECK(
      tells(page, "`second@3` came in iteration 2: loads are wider. On its 1 problem it is 1.20x"));
  CHECK(tells(page, "`third@4` came in iteration 3: blocks stay. On its 1 problem it is 1.50x"));
  CHECK_FALSE(tells(page, "It made `first@2`"));
}

TEST_CASE("what brought no gain is called slower where it was", "[report][summary]") {
  Story story;
  story.baseline();
  const double ratios[] = {0.7, 1.0, 0.9};
  for (int n = 1; n <= 3; ++n) {
    const std::string label = "mine@" + std::to_string(n + 1);
    story.iteration(n, label, "no_gain");
    story.add(n,
              {.problem = {}, .candidate = label, .against = "base@1", .speedup = ratios[n - 1]});
  }
  story.add(3, {.problem = k_large, .candidate = "mine@4", .against = "base@1", .speedup = 1.5});
  const session::SessionView view = story.close().view();
  const report::Page page(view);
  CHECK(report::two_pages::no_gain_words(page, view.iterations[1]) == "slower");
  CHECK(report::two_pages::no_gain_words(page, view.iterations[2]) == "no gain");
  CHECK(report::two_pages::no_gain_words(page, view.iterations[3]) == "slower overall, used on 1");
}

TEST_CASE("ideas that begin alike are told apart", "[report][summary]") {
  Story story;
  story.baseline();
  for (int n = 1; n <= 3; ++n) {
    story.iteration(n, "mine@" + std::to_string(n + 1), "no_gain");
  }
  session::SessionView view = story.view();
  const std::string shared = "the next tile of keys and values is asked for before this one ends ";
  predict(view, 1, shared + "by one warp", 1.2, 1, "below", "not_confirmed");
  predict(view, 2, shared + "by four warps", 1.2, 1, "below", "not_confirmed");
  predict(view, 3, shared + "by one warp", 1.2, 1, "below", "not_confirmed");
  const report::Facts facts(view);
  const auto idea = [&](std::int64_t n) {
    return report::two_pages::idea_of(facts, tried(view, n), 40);
  };
  CHECK(idea(1) == "\u2026 one warp");
  CHECK(idea(2) == "\u2026 four warps");
  CHECK(idea(3).starts_with("iteration 1 again: the next tile"));
  // What fits whole is told whole.
  CHECK(report::two_pages::idea_of(facts, tried(view, 2), 200) == shared + "by four warps");
}

namespace {

/// Twelve problems of D 64, f16, each in a suite's name that tells nothing. The last two take
/// another variant, and with them the figures rise.
session::SessionView many_problems() {
  Story story;
  story.baseline();
  story.iteration(1, "narrow@2", "win");
  story.iteration(2, "wide@3", "no_gain");
  Json problems = Json::array();
  for (int i = 0; i < 12; ++i) {
    const std::string problem =
        "B=" + std::to_string(i + 1) + " Hq=4 Hkv=4 Sq=512 Skv=512 D=64 f16 causal=none";
    problems.push_back({{"problem", problem},
                        {"name", "p" + std::to_string(i)},
                        {"weight", 1.0},
                        {"held_out", false}});
    story.add(1, {.problem = problem, .candidate = "narrow@2", .against = "base@1", .speedup = 2});
    story.add(1, {.problem = problem,
                  .candidate = "narrow@2",
                  .against = "torch_a",
                  .speedup = 1.2 + 0.1 * i,
                  .role = "rival"});
    // The two in the middle are better with the other one.
    story.add(2, {.problem = problem,
                  .candidate = "wide@3",
                  .against = "narrow@2",
                  .speedup = i == 5 || i == 6 ? 1.02 : 0.5});
  }
  session::SessionView view = story.close().view();
  view.opened.payload["suite"]["problems"] = problems;
  return view;
}

std::vector<std::string> rows_of(const std::string& page, const std::string& section) {
  std::vector<std::string> rows;
  std::string rest = page.substr(page.find("## " + section));
  rest = rest.substr(rest.find("\n|"));
  while (rest.starts_with("\n|")) {
    const std::size_t end = rest.find('\n', 1);
    rows.push_back(rest.substr(1, end - 1));
    rest = rest.substr(end);
  }
  return rows;
}

}  // namespace

TEST_CASE("no row of problems hides which variant is taken", "[report][summary]") {
  const std::string page = report::render_summary(many_problems());
  INFO(page);
  const std::vector<std::string> rows = rows_of(page, "Problem by problem");
  const auto row_with = [&](const std::string& words) {
    return std::find_if(rows.begin(), rows.end(),
                        [&](const std::string& row) { return tells(row, words); });
  };
  CHECK(rows.size() <= 10);  // heading, rule, eight rows
  for (const std::string name : {"| p5 ", "| p6 "}) {
    INFO(name);
    REQUIRE(row_with(name) != rows.end());
    CHECK(tells(*row_with(name), "`wide@3`"));
  }
  REQUIRE(row_with(" more ") != rows.end());
  CHECK(tells(*row_with(" more "), "`narrow@2`"));
  // Shapes, where names tell nothing; what all have in common stands once.
  CHECK(tells(page, "All are H4, S512, D64, f16."));
  CHECK(tells(*row_with("| p5 "), "| B6 "));
  for (const std::string& row : rows) CHECK(row.size() <= 200);
}

TEST_CASE("the table of problems has times and intervals", "[report][summary]") {
  const std::string page = report::render_summary(many_problems());
  const std::vector<std::string> rows = rows_of(page, "Problem by problem");
  REQUIRE(rows.size() > 2);
  CHECK(tells(rows[0], "time us"));
  CHECK(tells(rows[2], "| p0 "));
  CHECK(tells(rows[2], " 100.0 [e"));
  CHECK(tells(rows[2], "1.20x [1.19, 1.21] [e"));
  // All are ahead of the same rival: one column says so, and none repeats it.
  CHECK(tells(rows[0], "over `torch_a`"));
  CHECK_FALSE(tells(rows[0], "place"));
  CHECK_FALSE(tells(rows[0], "that rival"));
}

TEST_CASE("two pages tell verdicts and held-out problems", "[report][summary]") {
  Story story;
  story.hold_out(k_large);
  story.baseline();
  story.iteration(1, "mine@2", "win");
  for (const char* problem : {k_small, k_large}) {
    const double speedup = problem == k_small ? 2 : 1.5;
    story.add(1,
              {.problem = problem, .candidate = "mine@2", .against = "base@1", .speedup = speedup});
  }
  session::SessionView view = story.close().view();
  CHECK(tells(report::render_summary(view), "Correctness: all 2 verdicts passed."));
  CHECK(tells(report::render_summary(view), "1 problem held out: `mine@2` 1.50x [e"));
  CHECK(tells(report::render_summary(view), " over the start."));
  const auto run = [](bool pass, double share) {
    return Json{{"pass", pass}, {"worst", {{"share", share}, {"rule", "max"}}}};
  };
  Json payload{{"subject", "mine@2"}, {"problem", k_small}, {"pass", true}, {"outcome", "pass"}};
  payload["runs"] = {run(true, 0.25), run(true, 0.42)};
  view.outside.verdicts.emplace_back(session::Fact{3, "", payload});
  CHECK(tells(report::render_summary(view),
              "Correctness: all 2 verdict runs passed; the closest used 42 % of its error budget "
              "[e3]."));
}

TEST_CASE("a weak cold figure stands in the result", "[report][summary]") {
  const auto page_of = [](double cold, const std::string& outcome) {
    LogBuilder log = whole_session();
    for (session::IterationView& iteration : log.view().iterations) {
      for (session::Fact& fact : iteration.comparisons) {
        Json& made = fact.payload;
        if (made["role"] != "rival") continue;
        const bool is_cold = made["plan"] == "cold";
        const double speedup = is_cold ? cold : 2.0;
        made["speedup"] = speedup;
        made["interval"] = interval(speedup * 0.97, speedup * 1.03);
        made["outcome"] = is_cold ? outcome : "faster";
      }
    }
    return report::render_summary(log.view());
  };
  const std::string weak = line_with(page_of(1.01, "ambiguous"), "- **Result:**");
  const std::string strong = line_with(page_of(3.0, "faster"), "- **Result:**");
  INFO(weak);
  CHECK(tells(weak, " Cold no gain is shown: 1.01x"));
  CHECK_FALSE(tells(strong, "Cold it is less"));
}

}  // namespace wb::test
