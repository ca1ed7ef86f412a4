// SPDX-License-Identifier: MIT
// `status`: the state of a session on one screen.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "outcome/outcome.hpp"
#include "report/report.hpp"
#include "session/goals.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::confirmed_gain;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::StopDecision;
using session::IterationView;
using session::SessionView;

namespace {

/// What became of the session's goals; nothing where the comparisons cannot be read.
Json goals_json(const SessionView& whole, std::string& text) {
  Json goals = Json::array();
  for (const auto& [goal, result] : session::goals_of(whole)) {
    goals.push_back(to_json(goal, result));
    text += "goal " + goal.text + ": " + report::goal_words(goal, result) + "\n";
  }
  return goals;
}

/// The last lines of the screen: what came of the session so far, and what follows from it.
std::string outcome_lines(const outcome::Outcome& made) {
  std::string text = fmt::format("{:<10} {}\n", "outcome", outcome::headline(made));
  const std::string lost = outcome::losses(made);
  if (!lost.empty()) text += fmt::format("{:<10} {}\n", "lost", lost);
  return text + fmt::format("{:<10} {}\n", "advice", outcome::advice_words(made));
}

Result<Json> status_of(const session::Session& session, const Clock& clock) {
  auto current = session.current(session::FoldDepth::full);
  // A payload that cannot be read takes the outcome away, not the state.
  const bool is_whole = current.ok();
  if (!is_whole) current = session.current(session::FoldDepth::brief);
  if (!current) return current.error();
  const SessionView& view = **current;
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  const auto opened = parse_iso8601(view.opened.t);
  const double elapsed_s =
      opened ? std::chrono::duration<double>(clock.now() - *opened).count() : 0.0;
  const StopDecision stop = stop_decision(view, settings.budget, settings.stop, elapsed_s);
  const auto best = confirmed_gain(view);
  WB_TRY_ASSIGN(const std::string warning, session.warning());
  const auto closed =
      std::count_if(view.iterations.begin(), view.iterations.end(),
                    [](const IterationView& one) { return one.is_closed() && one.number > 0; });
  std::optional<outcome::Outcome> made;
  if (is_whole) made = outcome::outcome_of(view);
  std::string goals_text;
  Json goals = is_whole ? goals_json(view, goals_text) : Json::array();
  return Json{{"status", to_string(view.status)},
              {"iterations", closed},
              {"incumbent", view.incumbent},
              {"best_speedup", best ? Json(*best) : Json(nullptr)},
              {"outcome", made ? Json(outcome::headline(*made)) : Json(nullptr)},
              {"advice", made ? Json(outcome::advice_words(*made)) : Json(nullptr)},
              {"goals", std::move(goals)},
              {"cost", to_json(view.ledger)},
              {"stop_reason", stop.reason ? Json(*stop.reason) : Json(nullptr)},
              {"warning", warning.empty() ? Json(nullptr) : Json(warning)},
              {"text", (warning.empty() ? "" : "WARNING: " + warning + "\n") + goals_text +
                           report::render_status(view) + (made ? outcome_lines(*made) : "")}};
}

Result<Json> status_body(const Call& call) {
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  return status_of(*session, call.services.clock);
}

Result<Json> status_sample(FakeEngine& fake, const Json&) {
  return Json{{"status", fake.is_closed ? "closed" : "open"},
              {"iterations", fake.iteration},
              {"incumbent", fake.incumbent},
              {"best_speedup", nullptr},
              {"outcome", nullptr},
              {"advice", nullptr},
              {"goals", Json::array()},
              {"cost", Json::object()},
              {"stop_reason", fake.stop_reason()},
              {"warning", nullptr},
              {"text", "dry run"}};
}

}  // namespace

const Verb& verb_status() {
  static const Verb verb{
      .spec = {.name = "status",
               .doc = "where a session stands, on one screen",
               .session = SessionNeed::reads,
               .result = {{"status", "string: open, paused or closed"},
                          {"iterations",
                           "int: closed ones after the baseline, abandoned ones included"},
                          {"incumbent", "string: label"},
                          {"best_speedup",
                           "real or null: incumbent over the start, confirmed (ratio)"},
                          {"outcome", "string or null: what came of it so far, in one line"},
                          {"advice", "string or null: what to use and to do, by its outcome"},
                          {"goals",
                           "list: goal, state (reached, missed or undecided), value with low and "
                           "high (ratio), short_by, lowest, known of all problems, reason, events"},
                          {"cost", "map: ledger"},
                          {"stop_reason", "string or null: which budget or stop rule holds"},
                          {"warning", "string or null: which events the log lost, and what to do"},
                          {"text", "string: the screen"}},
               .reads_only = true},
      .body = status_body,
      .sample = status_sample};
  return verb;
}

}  // namespace wb::verbs
