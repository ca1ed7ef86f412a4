// SPDX-License-Identifier: MIT
#include "session/goals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::session {
namespace {

constexpr std::string_view k_goal_example = "geomean >= 1.2 over torch_default on fa_D64_*";

Error goal_error(std::string_view text, std::string cause) {
  return Error{ErrorCode::usage, "read the goal", printable(text), std::move(cause),
               fmt::format("write it as '{}', or with each for geomean, start or fastest for the "
                           "rival, and prefill:fa_D64_* for problems of another suite; ';' joins "
                           "several",
                           k_goal_example)};
}

std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<double> number_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// "torch_default" for "torch_default@1f0c44aa".
std::string kernel_of(const std::string& label) {
  return label.substr(0, label.find('@'));
}

/// Null where the event has no figure.
std::optional<GoalFigure> figure_in(const Fact& fact) {
  const Json& payload = fact.payload;
  const auto speedup = number_in(payload, "speedup");
  const std::string problem = text_in(payload, "problem");
  if (!speedup || !(*speedup > 0) || problem.empty()) return std::nullopt;
  GoalFigure figure{.candidate = text_in(payload, "candidate"),
                    .against = text_in(payload, "against"),
                    .problem = problem,
                    .speedup = *speedup,
                    .low = {},
                    .high = {},
                    .events = {fact.seq}};
  if (const auto interval = payload.find("interval");
      interval != payload.end() && interval->is_object()) {
    figure.low = number_in(*interval, "low");
    figure.high = number_in(*interval, "high");
  }
  return figure;
}

/// The objective, as far as it says which comparisons decide.
struct Deciding {
  std::string plan, regime;
  explicit Deciding(const SessionView& view) {
    const auto objective = view.opened.payload.find("objective");
    if (objective == view.opened.payload.end() || !objective->is_object()) return;
    plan = text_in(*objective, "plan");
    regime = text_in(*objective, "regime");
  }
  [[nodiscard]] bool takes(const Json& comparison) const {
    const std::string phase = text_in(comparison, "phase");
    if (phase == "selection" || phase == "tune") return false;
    if (!plan.empty() && text_in(comparison, "plan") != plan) return false;
    const std::string measured = text_in(comparison, "regime");
    return measured.empty() || regime.empty() || measured == regime;
  }
};

/// The confirmed steps from the start to the incumbent, multiplied; problems without a figure in
/// one of them have none.
void add_over_start(const SessionView& view, const Deciding& deciding,
                    std::vector<GoalFigure>& figures) {
  std::map<std::string, GoalFigure> product;
  std::size_t steps = 0;
  for (const IterationView& iteration : view.iterations) {
    if (!iteration.closed || text_in(iteration.closed->payload, "outcome") != "win") continue;
    std::map<std::string, GoalFigure> step;
    for (const Fact& fact : iteration.comparisons) {
      const bool is_step = text_in(fact.payload, "phase") == "confirmation" &&
                           text_in(fact.payload, "role") == "incumbent";
      if (!is_step || !deciding.takes(fact.payload)) continue;
      if (const auto figure = figure_in(fact)) step.insert_or_assign(figure->problem, *figure);
    }
    if (steps++ == 0) {
      product = std::move(step);
      continue;
    }
    std::erase_if(product, [&](const auto& entry) { return !step.contains(entry.first); });
    for (auto& [problem, whole] : product) {
      const GoalFigure& more = step[problem];
      whole.candidate = more.candidate;
      whole.speedup *= more.speedup;
      const bool is_known = whole.low && whole.high && more.low && more.high;
      whole.low = is_known ? std::optional(*whole.low * *more.low) : std::nullopt;
      whole.high = is_known ? std::optional(*whole.high * *more.high) : std::nullopt;
      whole.events.insert(whole.events.end(), more.events.begin(), more.events.end());
    }
  }
  for (auto& [problem, whole] : product) {
    whole.against = k_over_start;
    figures.push_back(std::move(whole));
  }
}

/// The figure of each candidate on one problem that the goal is about: over the fastest rival the
/// smallest of its figures.
std::optional<GoalFigure> best_on(const Goal& goal, const std::string& problem,
                                  const std::vector<GoalFigure>& figures) {
  std::map<std::string, std::map<std::string, const GoalFigure*>> by_candidate;
  for (const GoalFigure& figure : figures) {
    if (figure.problem != problem) continue;
    const bool is_over_start = figure.against == k_over_start;
    const bool is_of_goal =
        goal.over == k_over_fastest ? !is_over_start : kernel_of(figure.against) == goal.over;
    if (is_of_goal) by_candidate[figure.candidate][figure.against] = &figure;
  }
  const GoalFigure* best = nullptr;
  for (const auto& [candidate, beside] : by_candidate) {
    const GoalFigure* least = nullptr;
    for (const auto& [against, figure] : beside) {
      if (least == nullptr || figure->speedup < least->speedup) least = figure;
    }
    if (best == nullptr || least->speedup > best->speedup) best = least;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

/// The name of a problem, which says nothing of a held-out one.
std::string title_of(const Json& suite, const std::string& problem) {
  for (const Json& member : suite.value("problems", Json::array())) {
    if (!member.is_object() || text_in(member, "problem") != problem) continue;
    if (const auto held = member.find("held_out"); held != member.end() && *held == true) {
      return "a held-out problem";
    }
    const std::string name = text_in(member, "name");
    return name.empty() ? problem : name;
  }
  return problem;
}

}  // namespace

Result<Goal> parse_goal(std::string_view text) {
  const auto words = ascii::words(text);
  Goal goal;
  goal.text = fmt::format("{}", fmt::join(words, " "));
  if (words.empty()) return goal_error(text, "it is empty");
  if (words[0] == "each") {
    goal.form = Goal::Form::each;
  } else if (words[0] != "geomean") {
    return goal_error(text, fmt::format("it begins with '{}', not with geomean or each",
                                        printable(words[0], 40)));
  }
  if (words.size() < 5 || words[1] != ">=") {
    return goal_error(text, words.size() > 1 && words[1] != ">="
                                ? "its second word is not >="
                                : "it has no number, or not over whom");
  }
  const auto number = ascii::number<double>(words[2]);
  if (!number || !(*number > 0) || !std::isfinite(*number)) {
    return goal_error(text, fmt::format("'{}' is no number above 0", printable(words[2], 40)));
  }
  goal.at_least = *number;
  if (words[3] != "over") {
    return goal_error(
        text, fmt::format("after the number it says '{}', not over", printable(words[3], 40)));
  }
  goal.over = words[4];
  if (words.size() == 5) return goal;
  if (words[5] != "on" || words.size() != 7) {
    return goal_error(text,
                      "after the rival comes nothing, or on and the names of problems, "
                      "joined by ',' without blanks");
  }
  if (words[6].find(':') != std::string_view::npos) {
    goal.outside = words[6];
    return goal;
  }
  for (const std::string_view pattern : ascii::parts(words[6], ',')) {
    if (pattern.empty()) return goal_error(text, "between two ',' is no name");
    goal.on.emplace_back(pattern);
  }
  return goal;
}

Result<std::vector<Goal>> parse_goals(std::string_view text) {
  std::vector<Goal> goals;
  for (const std::string_view part : ascii::parts(text, ';')) {
    WB_TRY_ASSIGN(Goal goal, parse_goal(part));
    goals.push_back(std::move(goal));
  }
  return goals;
}

std::vector<std::string> problems_of_goal(const Goal& goal, const Json& suite) {
  std::vector<std::string> problems;
  const auto members = suite.find("problems");
  if (members == suite.end() || !members->is_array()) return problems;
  for (const Json& member : *members) {
    if (!member.is_object()) continue;
    const std::string text = text_in(member, "problem");
    const std::string name = text_in(member, "name");
    const auto fits = [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), name.empty() ? text.c_str() : name.c_str(), 0) == 0;
    };
    if (goal.on.empty() || std::any_of(goal.on.begin(), goal.on.end(), fits)) {
      problems.push_back(text);
    }
  }
  return problems;
}

namespace {

/// The problems of a goal about other suites: lists of {problem, name} by what the goal says.
const Json& members_outside(const Goal& goal, const Json& goal_problems) {
  static const Json k_none = Json::array();
  const auto found =
      goal_problems.is_object() ? goal_problems.find(goal.outside) : goal_problems.end();
  return found != goal_problems.end() && found->is_array() ? *found : k_none;
}

}  // namespace

std::vector<std::string> problems_outside(const Goal& goal, const Json& goal_problems) {
  std::vector<std::string> problems;
  for (const Json& member : members_outside(goal, goal_problems)) {
    if (member.is_object()) problems.push_back(text_in(member, "problem"));
  }
  return problems;
}

std::string_view to_string(GoalState value) {
  switch (value) {
    case GoalState::reached:
      return "reached";
    case GoalState::missed:
      return "missed";
    case GoalState::undecided:
      return "undecided";
  }
  return "unknown";
}

GoalResult evaluate(const Goal& goal, const std::vector<std::string>& problems,
                    const std::vector<GoalFigure>& figures) {
  GoalResult result;
  result.all = problems.size();
  double sum = 0, below = 0, above = 0, least = 0, least_low = 0, least_high = 0;
  bool has_intervals = true;
  for (const std::string& problem : problems) {
    const auto figure = best_on(goal, problem, figures);
    if (!figure) continue;
    ++result.known;
    result.events.insert(result.events.end(), figure->events.begin(), figure->events.end());
    has_intervals = has_intervals && figure->low && figure->high && *figure->low > 0;
    const double low = figure->low.value_or(figure->speedup);
    const double high = figure->high.value_or(figure->speedup);
    if (result.known == 1 || figure->speedup < least) {
      least = figure->speedup;
      result.lowest = problem;
    }
    least_low = result.known == 1 ? low : std::min(least_low, low);
    least_high = result.known == 1 ? high : std::min(least_high, high);
    if (!has_intervals) continue;
    sum += std::log(figure->speedup);
    below += std::pow(std::log(figure->speedup / low), 2);
    above += std::pow(std::log(high / figure->speedup), 2);
  }
  std::sort(result.events.begin(), result.events.end());
  if (result.known == 0) {
    result.reason = "nothing is measured over it";
    return result;
  }
  if (!has_intervals) {
    result.reason = "a figure has no interval";
    return result;
  }
  const auto n = static_cast<double>(result.known);
  if (goal.form == Goal::Form::geomean) {
    result.value = std::exp(sum / n);
    result.low = std::exp((sum - std::sqrt(below)) / n);
    result.high = std::exp((sum + std::sqrt(above)) / n);
  } else {
    result.value = least;
    result.low = least_low;
    result.high = least_high;
  }
  const bool is_whole = result.known == result.all;
  if (*result.high < goal.at_least && (is_whole || goal.form == Goal::Form::each)) {
    result.state = GoalState::missed;
  } else if (!is_whole) {
    result.reason = fmt::format("{} of {} problems have a figure", result.known, result.all);
  } else if (*result.low >= goal.at_least) {
    result.state = GoalState::reached;
  } else {
    result.reason = "the interval reaches to both sides of the goal";
  }
  return result;
}

std::vector<GoalFigure> goal_figures(const SessionView& view) {
  const Deciding deciding(view);
  std::vector<GoalFigure> figures;
  const auto take = [&](const IterationView& iteration) {
    for (const Fact& fact : iteration.comparisons) {
      const bool is_step = text_in(fact.payload, "role") == "incumbent";
      if (is_step && &iteration != &view.outside) continue;  // they make up those over the start
      if (!deciding.takes(fact.payload)) continue;
      if (auto figure = figure_in(fact)) figures.push_back(*std::move(figure));
    }
  };
  for (const IterationView& iteration : view.iterations) {
    const bool is_abandoned =
        iteration.closed && text_in(iteration.closed->payload, "outcome") == "abandoned";
    if (!is_abandoned) take(iteration);
  }
  take(view.outside);
  std::stable_sort(figures.begin(), figures.end(), [](const GoalFigure& a, const GoalFigure& b) {
    return a.events.front() < b.events.front();
  });
  add_over_start(view, deciding, figures);
  return figures;
}

std::vector<std::pair<Goal, GoalResult>> goals_of(const SessionView& view) {
  std::vector<std::pair<Goal, GoalResult>> all;
  const Json& opened = view.opened.payload;
  const auto texts = opened.find("goals"), suite = opened.find("suite");
  if (texts == opened.end() || !texts->is_array() || suite == opened.end()) return all;
  const auto figures = goal_figures(view);
  for (const Json& text : *texts) {
    if (!text.is_string()) continue;
    auto goal = parse_goal(text.get<std::string>());
    if (!goal) continue;
    const bool is_outside = !goal->outside.empty();
    const Json beyond = opened.value("goal_problems", Json());
    GoalResult result = evaluate(
        *goal, is_outside ? problems_outside(*goal, beyond) : problems_of_goal(*goal, *suite),
        figures);
    Json others = Json::object();
    others["problems"] = members_outside(*goal, beyond);
    result.lowest = title_of(is_outside ? others : *suite, result.lowest);
    all.emplace_back(*std::move(goal), std::move(result));
  }
  return all;
}

Json to_json(const Goal& goal, const GoalResult& result) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const bool is_missed = result.state == GoalState::missed;
  return {{"goal", goal.text},
          {"state", to_string(result.state)},
          {"at_least", goal.at_least},
          {"value", or_null(result.value)},
          {"low", or_null(result.low)},
          {"high", or_null(result.high)},
          {"short_by", is_missed ? Json(goal.at_least - *result.value) : Json(nullptr)},
          {"lowest", result.lowest},
          {"known", result.known},
          {"all", result.all},
          {"reason", result.reason},
          {"events", result.events}};
}

}  // namespace wb::session
