// SPDX-License-Identifier: MIT
#include "verbs/brief_facts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "report/report.hpp"
#include "session/goals.hpp"
#include "session/storage.hpp"
#include "variant/manifest.hpp"
#include "verbs/situation.hpp"

namespace wb::verbs {

using engine::candidate_of;
using engine::confirmed_gain;
using engine::find_built;
using engine::for_each_closed_iteration;
using engine::incumbent_iteration;
using engine::is_about_variant;
using engine::member_of;
using engine::number_of;
using engine::StopDecision;
using engine::techniques_of;
using engine::text_of;
using session::IterationView;

namespace {

constexpr std::size_t k_named_problems_max = 8;

/// A figure rounded for people; a brief has no room for 17 digits.
Json short_number(std::optional<double> value) {
  if (!value) return nullptr;
  return std::round(*value * 1000) / 1000;
}

std::string theory(const IterationView& iteration) {
  return text_of(member_of(iteration.opened.payload, "hypothesis"), "theory");
}

std::string decision(const IterationView& iteration) {
  return iteration.hypothesis ? text_of(iteration.hypothesis->payload, "state") : "undecided";
}

}  // namespace

BriefFacts::BriefFacts(const session::Session& session, const session::SessionView& view,
                       const engine::SessionSettings& settings)
    : m_session(session),
      m_view(view),
      m_settings(settings),
      m_names(settings.suite),
      m_outcome(outcome::outcome_of(view)) {}

std::string BriefFacts::cut(const std::string& words) const {
  return printable(m_names.hide(words), m_text_bytes);
}

std::string BriefFacts::name() const {
  return cut(session::session_name(m_session.folder()));
}

std::string BriefFacts::status() const {
  return std::string(to_string(m_view.status));
}

std::string BriefFacts::title() const {
  return cut(m_settings.title);
}

namespace {

/// The largest gain that the current floors hide, on this plan; null when unknown.
Json cannot_show_frac(const session::SessionView& view, std::string_view plan) {
  std::map<std::string, Json> by_problem;  // the latest counts
  for (const session::Fact& floor : view.noise_floors) {
    if (!floor.payload.value("used", true) || floor.payload.value("plan", "") != plan) continue;
    by_problem[floor.payload.value("problem", "")] =
        floor.payload.value("cannot_show_frac", Json());
  }
  std::optional<double> largest;
  for (const auto& [problem, frac] : by_problem) {
    if (frac.is_number()) largest = std::max(largest.value_or(0), frac.get<double>());
  }
  return short_number(largest);
}

}  // namespace

Json BriefFacts::objective() const {
  Json problems = Json::array();
  std::size_t held_out = 0;
  for (const problem::SuiteProblem& member : m_settings.suite.problems) {
    if (member.held_out) {
      ++held_out;
    } else if (problems.size() < k_named_problems_max) {
      problems.push_back(printable(label(member.problem), 64));
    }
  }
  return {{"rule", to_string(m_settings.objective.rule)},
          {"plan", to_string(m_settings.objective.plan)},
          {"min_speedup", m_settings.objective.min_speedup},
          {"cannot_show_frac", cannot_show_frac(m_view, to_string(m_settings.objective.plan))},
          {"suite", cut(m_settings.suite.name)},
          {"problems", m_settings.suite.problems.size()},
          {"held_out", held_out},
          {"some", problems}};
}

Json BriefFacts::goals() const {
  Json list = Json::array();
  for (const auto& [goal, result] : session::goals_of(m_view)) {
    Json item{{"goal", cut(m_names.hide(goal.text))}, {"state", to_string(result.state)}};
    if (result.value) item["value"] = short_number(result.value);
    if (result.state == session::GoalState::missed) {
      item["short_by"] = short_number(goal.at_least - *result.value);
    }
    list.push_back(std::move(item));
  }
  return list;
}

std::string BriefFacts::conclusion() const {
  // The whole of it where there is room, else as many sentences as fit.
  const std::size_t most = 3 * m_text_bytes;
  std::string words = m_names.hide(outcome::paragraph(m_outcome));
  if (words.size() > most) words = m_names.hide(outcome::headline(m_outcome));
  return printable(words, most);
}

Json BriefFacts::incumbent() const {
  const IterationView* holder = incumbent_iteration(m_view);
  if (holder == nullptr) return nullptr;
  const Json* built = find_built(m_view, m_view.incumbent);
  return {{"variant", cut(m_view.incumbent)},
          {"configuration", built == nullptr ? "" : cut(member_of(*built, "configuration").dump())},
          {"over_start", short_number(confirmed_gain(m_view))},
          {"iteration", holder->number},
          {"event", holder->closed->seq}};
}

/// Until the last event, not until now: a brief is a function of the log.
double BriefFacts::elapsed_s() const {
  const auto from = parse_iso8601(m_view.opened.t), to = parse_iso8601(m_view.last_t);
  return from && to ? std::chrono::duration<double>(*to - *from).count() : 0.0;
}

Json BriefFacts::budget() const {
  const StopDecision stop = stop_decision(m_view, m_settings.budget, m_settings.stop, elapsed_s());
  std::int64_t used = 0;
  for (const IterationView& iteration : m_view.iterations) {
    if (!iteration.closed) continue;
    const std::string outcome = text_of(iteration.closed->payload, "outcome");
    used += outcome == "baseline" || outcome == "abandoned" ? 0 : 1;
  }
  const session::Ledger::Total total = m_view.ledger.total();
  const auto left = [](auto limit, auto spent) -> Json {
    if (!limit) return nullptr;
    return short_number(std::max(0.0, static_cast<double>(*limit) - static_cast<double>(spent)));
  };
  Json evaluations_left = nullptr;
  if (m_settings.budget.evaluations) {
    evaluations_left = std::max<std::int64_t>(0, *m_settings.budget.evaluations - used);
  }
  return {{"evaluations", used},
          {"evaluations_left", evaluations_left},
          {"wall_s", short_number(elapsed_s())},
          {"wall_s_left", left(m_settings.budget.wall_s, elapsed_s())},
          {"usd", total.complete ? short_number(total.usd) : Json(nullptr)},
          {"usd_left", left(m_settings.budget.usd, total.usd)},
          {"by_list_price", total.is_listed},
          {"stop_reason", stop.reason ? Json(cut(*stop.reason)) : Json(nullptr)}};
}

Json BriefFacts::in_flight() const {
  const IterationView* flight = m_view.in_flight();
  if (flight == nullptr) return nullptr;
  return {{"iteration", flight->number},        {"variant", cut(candidate_of(*flight))},
          {"hypothesis", cut(theory(*flight))}, {"since", flight->opened.t},
          {"last_event", m_view.last_t},        {"event", flight->opened.seq}};
}

Json BriefFacts::last() const {
  Json rows = Json::array();
  for_each_closed_iteration(m_view, [&](const IterationView& iteration, const Json& closed) {
    Json row{{"iteration", iteration.number},
             {"outcome", text_of(closed, "outcome")},
             {"variant", cut(candidate_of(iteration))},
             {"speedup", short_number(number_of(closed, "speedup"))},
             {"decision", decision(iteration)},
             {"tried", cut(theory(iteration))},
             {"event", iteration.closed->seq}};
    if (text_of(closed, "outcome") == "invalid") {
      row["invalidity"] = text_of(closed, "invalidity");
      row["message"] = cut(text_of(closed, "message"));
    }
    rows.push_back(std::move(row));
  });
  return rows;
}

Json BriefFacts::refuted() const {
  Json rows = Json::array();
  for_each_closed_iteration(m_view, [&](const IterationView& iteration, const Json& closed) {
    if (decision(iteration) != "refuted") return;
    // A gain below its prediction is no reason to leave the idea.
    if (has_helped(iteration)) return;
    // Nor is a loss over the suite where the variant is the best on some of its problems.
    if (m_outcome.takes(candidate_of(iteration))) return;
    rows.push_back({{"hypothesis", cut(theory(iteration))},
                    {"measured", short_number(number_of(closed, "speedup"))},
                    {"event", iteration.hypothesis->seq}});
  });
  return rows;
}

std::vector<problem::Problem> BriefFacts::shown_problems() const {
  std::vector<problem::Problem> problems;
  for (const problem::SuiteProblem& member : m_settings.suite.problems) {
    if (!member.held_out) problems.push_back(member.problem);
  }
  return problems;
}

/// A technique's effect is the outcome of iterations whose parent did not have it.
Json BriefFacts::techniques() const {
  TechniqueHistory history(m_session, m_view);
  const std::vector<problem::Problem> problems = shown_problems();
  std::map<std::string, Json> rows;
  for_each_closed_iteration(m_view, [&](const IterationView& iteration, const Json& closed) {
    if (!is_about_variant(closed)) return;
    for (const std::string& word : history.added_by(iteration)) {
      if (!variant::can_act(word, m_settings.backend, problems)) continue;
      Json& row = rows[word];
      if (row.is_null()) row = {{"technique", cut(word)}, {"tries", 0}, {"best", nullptr}};
      row["tries"] = row["tries"].get<int>() + 1;
      const auto speedup = number_of(closed, "speedup");
      const bool better =
          speedup && (row["best"].is_null() || *speedup > row["best"].get<double>());
      if (better || !row.contains("outcome")) {
        row["best"] = short_number(speedup);
        row["outcome"] = text_of(closed, "outcome");
        row["event"] = iteration.closed->seq;
      }
    }
  });
  Json list = Json::array();
  for (auto& [word, row] : rows) list.push_back(std::move(row));
  // Strongest effect first; techniques without a measurement are dropped first.
  std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) {
    return number_of(a, "best").value_or(0) > number_of(b, "best").value_or(0);
  });
  return list;
}

/// Known techniques that can act here and that neither the incumbent nor any iteration had.
Json BriefFacts::untried() const {
  std::set<std::string, std::less<>> known;
  TechniqueHistory history(m_session, m_view);
  for (const std::string& word : history.of(m_view.incumbent)) known.insert(word);
  for_each_closed_iteration(m_view, [&](const IterationView& iteration, const Json& closed) {
    if (!is_about_variant(closed)) return;
    for (std::string& word : techniques_of(iteration)) known.insert(std::move(word));
  });
  Json list = Json::array();
  const std::vector<problem::Problem> problems = shown_problems();
  for (const std::string_view word : variant::known_techniques()) {
    if (!variant::can_act(word, m_settings.backend, problems)) continue;
    if (!known.contains(word)) list.push_back(word);
  }
  return list;
}

/// The incumbent against each rival over the suite, on the objective's plan.
Json BriefFacts::rivals() const {
  Json rows = Json::array();
  const IterationView* holder = incumbent_iteration(m_view);
  if (holder == nullptr) return rows;
  std::map<std::string, Json> found;
  for (const session::Fact& fact : holder->comparisons) {
    const Json& made = fact.payload;
    const bool decides = text_of(made, "role") == "rival" && text_of(made, "problem").empty() &&
                         text_of(made, "plan") == to_string(m_settings.objective.plan);
    if (!decides) continue;
    const std::string name = text_of(made, "against");
    found[name] = {{"rival", cut(name)},
                   {"speedup", short_number(number_of(made, "speedup"))},
                   {"outcome", text_of(made, "outcome")},
                   {"event", fact.seq}};
  }
  for (auto& [name, row] : found) rows.push_back(std::move(row));
  return rows;
}

Json BriefFacts::next() const {
  Json list = Json::array();
  for (const std::string& step : outcome::next_steps(m_outcome)) list.push_back(cut(step));
  for (const std::string& step : report::other_steps(m_view)) list.push_back(cut(step));
  return list;
}

Json BriefFacts::notes() const {
  Json list = Json::array();
  for (auto it = m_view.notes.rbegin(); it != m_view.notes.rend(); ++it) {
    list.push_back({{"note", cut(text_of(it->payload, "text"))}, {"event", it->seq}});
  }
  return list;
}

}  // namespace wb::verbs
