// SPDX-License-Identifier: MIT
#include "session/goals.hpp"

#include <cmath>

#include "core/json.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::session;

namespace {

GoalFigure figure(const std::string& problem, double speedup, double half = 0.02,
                  const std::string& candidate = "mine@1", const std::string& against = "rival") {
  return {candidate, against, problem, speedup, speedup * (1 - half), speedup * (1 + half), {7}};
}

Goal goal(const std::string& text) {
  return parse_goal(text).value();
}

Json suite() {
  const auto member = [](const char* problem, const char* name, bool held_out) {
    return Json{{"problem", problem}, {"name", name}, {"held_out", held_out}};
  };
  return {{"problems",
           {member("p1", "fa_D64_a", false), member("p2", "fa_D64_b", true),
            member("p3", "fa_D128_a", false), member("p4", "", false)}}};
}

}  // namespace

TEST_CASE("a goal is read from its words", "[session][goals]") {
  const Goal whole = goal("geomean  >= 1.2 over torch_default on fa_D64_*,fa_D128_a");
  CHECK(whole.form == Goal::Form::geomean);
  CHECK(whole.at_least == 1.2);
  CHECK(whole.over == "torch_default");
  CHECK(whole.on == std::vector<std::string>{"fa_D64_*", "fa_D128_a"});
  CHECK(whole.text == "geomean >= 1.2 over torch_default on fa_D64_*,fa_D128_a");
  const Goal each = goal("each >= 1 over fastest");
  CHECK(each.form == Goal::Form::each);
  CHECK(each.on.empty());
  CHECK(goal(whole.text).text == whole.text);
  CHECK(parse_goals("each >= 1 over a; geomean >= 2 over start").value().size() == 2);
}

TEST_CASE("a goal about another suite takes its problems from the opening", "[session][goals]") {
  const Goal beyond = goal("geomean >= 1.2 over fastest on prefill:fa_D64_*,fa_D128_*");
  CHECK(beyond.outside == "prefill:fa_D64_*,fa_D128_*");
  CHECK(beyond.on.empty());
  CHECK(goal("geomean >= 1.2 over fastest on fa_D64_*").outside.empty());
  Json known = Json::object();
  known[beyond.outside] = Json::array(
      {{{"problem", "p8"}, {"name", "fa_D64_x"}}, {{"problem", "p9"}, {"name", "fa_D128_x"}}});
  CHECK(problems_outside(beyond, known) == std::vector<std::string>{"p8", "p9"});
  CHECK(problems_outside(beyond, Json()).empty());
  CHECK(problems_outside(beyond, Json::array()).empty());
  SessionView view;
  view.opened.payload = {{"objective", {{"plan", "hot"}, {"regime", "sustained"}}},
                         {"suite", suite()},
                         {"goals", Json::array({beyond.text})},
                         {"goal_problems", known}};
  const auto compared = [](std::int64_t seq, const char* problem, const char* regime) {
    return Fact{seq,
                "",
                {{"phase", "standalone"},
                 {"role", "rival"},
                 {"plan", "hot"},
                 {"regime", regime},
                 {"problem", problem},
                 {"candidate", "mine@1"},
                 {"against", "rival"},
                 {"speedup", 1.5},
                 {"interval", {{"low", 1.49}, {"high", 1.51}}}}};
  };
  view.outside.comparisons = {compared(7, "p8", "sustained"), compared(8, "p9", "burst")};
  CHECK(goals_of(view).at(0).second.state == GoalState::undecided);  // p9 in another regime
  view.outside.comparisons.push_back(compared(9, "p9", "sustained"));
  const GoalResult reached = goals_of(view).at(0).second;
  CHECK(reached.state == GoalState::reached);
  CHECK(reached.all == 2);
  CHECK(reached.lowest == "fa_D64_x");
  CHECK(reached.events == std::vector<std::int64_t>{7, 9});
}

TEST_CASE("what is no goal is refused with what is wrong", "[session][goals]") {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "empty"},
      {"mean >= 1.2 over a", "begins with 'mean'"},
      {"geomean > 1.2 over a", "second word"},
      {"geomean >= fast over a", "no number"},
      {"geomean >= 0 over a", "no number above 0"},
      {"geomean >= -1 over a", "no number above 0"},
      {"geomean >= nan over a", "no number"},
      {"geomean >= inf over a", "no number"},
      {"geomean >= 1.2", "no number, or not over whom"},
      {"geomean >= 1.2 above a", "not over"},
      {"geomean >= 1.2 over a b", "comes nothing"},
      {"geomean >= 1.2 over a on", "comes nothing"},
      {"geomean >= 1.2 over a on x y", "comes nothing"},
      {"geomean >= 1.2 over a on x,,y", "no name"}};
  for (const auto& [text, cause] : bad) {
    const auto read = parse_goal(text);
    INFO(text);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::usage);
    INFO(read.error().message());
    CHECK(read.error().cause.find(cause) != std::string::npos);
    CHECK(read.error().next.find("geomean >= 1.2 over torch_default on fa_D64_*") !=
          std::string::npos);
  }
}

TEST_CASE("a goal is about the problems that its patterns name", "[session][goals]") {
  using Names = std::vector<std::string>;
  CHECK(problems_of_goal(goal("each >= 1 over a on fa_D64_*"), suite()) == Names{"p1", "p2"});
  CHECK(problems_of_goal(goal("each >= 1 over a on fa_D128_a,p4"), suite()) == Names{"p3", "p4"});
  CHECK(problems_of_goal(goal("each >= 1 over a"), suite()).size() == 4);
  CHECK(problems_of_goal(goal("each >= 1 over a on other"), suite()).empty());
}

TEST_CASE("a mean is reached, missed or undecided by its interval", "[session][goals]") {
  const std::vector<std::string> problems{"p1", "p2"};
  const std::vector<GoalFigure> figures{figure("p1", 1.0), figure("p2", 1.44)};
  const auto over = [&](const std::string& at_least) {
    return evaluate(goal("geomean >= " + at_least + " over rival"), problems, figures);
  };
  CHECK(over("1.1").state == GoalState::reached);
  CHECK(over("1.3").state == GoalState::missed);
  const GoalResult close = over("1.2");
  CHECK(close.state == GoalState::undecided);
  CHECK(close.reason.find("both sides") != std::string::npos);
  CHECK(close.value.value() == Approx(1.2));
  // Of two independent problems each +-2 %: +-1.4 %.
  CHECK(close.high.value() == Approx(1.2 * std::exp(std::sqrt(2.0) * std::log(1.02) / 2)));
  CHECK(close.lowest == "p1");
  const Json json = to_json(goal("geomean >= 1.3 over rival"), over("1.3"));
  CHECK(json["state"] == "missed");
  CHECK(json["short_by"].get<double>() == Approx(0.1));
  CHECK(to_json(goal("geomean >= 1.1 over rival"), over("1.1"))["short_by"].is_null());
}

TEST_CASE("each problem counts, and one that misses decides", "[session][goals]") {
  const Goal each = goal("each >= 1 over rival");
  const std::vector<std::string> problems{"p1", "p2"};
  CHECK(evaluate(each, problems, {figure("p1", 1.1), figure("p2", 1.3)}).state ==
        GoalState::reached);
  const GoalResult missed = evaluate(each, problems, {figure("p1", 0.9)});
  CHECK(missed.state == GoalState::missed);  // whatever the other is
  CHECK(missed.value.value() == 0.9);
  CHECK(evaluate(each, problems, {figure("p1", 1.01), figure("p2", 1.3)}).state ==
        GoalState::undecided);
}

TEST_CASE("what is not measured leaves a goal undecided", "[session][goals]") {
  const Goal mean = goal("geomean >= 1.2 over rival");
  const std::vector<std::string> problems{"p1", "p2"};
  const GoalResult none = evaluate(mean, problems, {});
  CHECK(none.state == GoalState::undecided);
  CHECK_FALSE(none.value);
  CHECK(none.reason == "nothing is measured over it");
  const GoalResult part = evaluate(mean, problems, {figure("p1", 3)});
  CHECK(part.state == GoalState::undecided);
  CHECK(part.reason == "1 of 2 problems have a figure");
  GoalFigure bare = figure("p2", 2);
  bare.low = bare.high = std::nullopt;
  CHECK(evaluate(mean, problems, {figure("p1", 3), bare}).reason == "a figure has no interval");
  CHECK(
      evaluate(mean, problems,
               {figure("p1", 3, 0.02, "mine@1", "other"), figure("p2", 3, 0.02, "mine@1", "start")})
          .known == 0);
}

TEST_CASE("the best candidate of each problem counts, beside its fastest rival",
          "[session][goals]") {
  const std::vector<GoalFigure> figures{
      figure("p1", 1.5, 0.01, "a@1", "r1"), figure("p1", 1.1, 0.01, "a@1", "r2@9"),
      figure("p1", 1.3, 0.01, "b@1", "r1"), figure("p1", 1.2, 0.01, "b@1", "r2@9"),
      figure("p1", 9.0, 0.01, "b@1", "start")};
  const auto value = [&](const std::string& over) {
    return evaluate(goal("geomean >= 1 over " + over), {"p1"}, figures).value.value();
  };
  CHECK(value("fastest") == Approx(1.2));
  CHECK(value("r1") == Approx(1.5));
  CHECK(value("r2") == Approx(1.2));
  CHECK(value("start") == Approx(9.0));
  // A later figure of the same pair replaces an earlier one.
  std::vector<GoalFigure> again = figures;
  again.push_back(figure("p1", 1.25, 0.01, "a@1", "r1"));
  CHECK(evaluate(goal("geomean >= 1 over r1"), {"p1"}, again).value.value() == Approx(1.3));
}

TEST_CASE("confirmations decide a session's goals, selections do not", "[session][goals]") {
  SessionView view;
  view.opened.payload = {
      {"objective", {{"plan", "hot"}, {"regime", "burst"}}},
      {"suite", suite()},
      {"goals", {"geomean >= 1.2 over rival on fa_D64_b", "geomean >= 3 over start on fa_D64_b"}}};
  const auto compared = [](std::int64_t seq, const char* phase, const char* role,
                           const char* against, double speedup, const char* plan = "hot") {
    return Fact{seq,
                "",
                {{"phase", phase},
                 {"role", role},
                 {"plan", plan},
                 {"problem", "p2"},
                 {"candidate", "mine@1"},
                 {"against", against},
                 {"speedup", speedup},
                 {"interval", {{"low", speedup * 0.99}, {"high", speedup * 1.01}}}}};
  };
  for (int number = 0; number < 3; ++number) {
    IterationView iteration;
    iteration.number = number;
    iteration.closed = Fact{90 + number, "", {{"outcome", number == 0 ? "baseline" : "win"}}};
    if (number > 0) {
      iteration.comparisons = {
          compared(10 * number, "selection", "rival", "rival", 9),
          compared(10 * number + 1, "confirmation", "rival", "rival", 1.0 + 0.2 * number),
          compared(10 * number + 2, "confirmation", "rival", "rival", 8, "cold"),
          compared(10 * number + 3, "confirmation", "incumbent", "before@1", 2)};
    }
    view.iterations.push_back(std::move(iteration));
  }
  const auto goals = goals_of(view);
  REQUIRE(goals.size() == 2);
  CHECK(goals[0].second.state == GoalState::reached);
  CHECK(goals[0].second.value.value() == Approx(1.4));
  CHECK(goals[0].second.events == std::vector<std::int64_t>{21});
  CHECK(goals[0].second.lowest == "a held-out problem");
  CHECK(goals[1].second.state == GoalState::reached);
  CHECK(goals[1].second.value.value() == Approx(4.0));
  CHECK(goals[1].second.events == std::vector<std::int64_t>{13, 23});
}
