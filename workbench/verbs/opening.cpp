// SPDX-License-Identifier: MIT
#include "verbs/opening.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/baseline.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "engine/worker.hpp"
#include "session/goals.hpp"
#include "session/list_prices.hpp"
#include "session/storage.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/situation.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

using engine::closed_answer;
using engine::confirmed_gain;
using engine::Context;
using engine::member_of;
using engine::Services;
using engine::settings_from_json;
using engine::stored_variant;
using engine::suite_json;
using engine::text_of;
using session::Session;
using session::SessionView;
using variant::Variant;

namespace {

template <typename T>
Json or_null(const Json& args, std::string_view key) {
  const auto found = args.find(key);
  return found == args.end() ? Json(nullptr) : Json(found->get<T>());
}

}  // namespace

std::string as_logged(const std::string& text) {
  const Json whole = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
  return whole.get<std::string>();
}

Json identity_of(const Context& context, const Json& args, const fs::path& folder,
                 const Opening& opening) {
  return Json{{"session", as_logged(session::whole_path(folder).filename().string())},
              {"title", args.value("title", fmt::format("{} on suite {}", opening.start,
                                                        opening.suite.name))},
              {"objective", to_json(opening.objective)},
              {"suite", suite_json(opening.suite)},
              {"backend", opening.backend},
              {"start_variant", opening.start},
              {"rivals", opening.rivals},
              {"rivals_asked_for", args.contains("rivals")},
              {"budget",
               {{"evaluations", or_null<std::int64_t>(args, "evaluations")},
                {"wall_s", or_null<double>(args, "wall_s")},
                {"usd", or_null<double>(args, "usd")}}},
              {"stop",
               {{"plateau", or_null<std::int64_t>(args, "plateau")},
                {"equal_failures", or_null<std::int64_t>(args, "equal_failures")}}},
              {"rates",
               {{"compile_cpu_usd_per_hour", or_null<double>(args, "compile_cpu_usd_per_hour")},
                {"device_usd_per_hour", or_null<double>(args, "device_usd_per_hour")},
                {"token_usd_per_million", or_null<double>(args, "token_usd_per_million")}}},
              {"effort", args.value("effort", "standard")},
              {"workbench_version", context.services.workbench_version},
              {"author", {{"name", "sdpa-wb"}, {"email", "sdpa-wb@localhost"}}}};
}

namespace {

/// {problem, name} of the problems that a goal names in other suites; held-out ones of these are
/// none of them. Errors: those of select_problems().
Result<Json> problems_named_by(const Services& services, const std::string& outside) {
  WB_TRY_ASSIGN(const auto suites, load_all_suites(services));
  WB_TRY_ASSIGN(const problem::Suite selected, select_problems(suites, outside));
  Json members = Json::array();
  std::set<std::string> known;  // a problem in two suites counts once
  for (const problem::SuiteProblem& member : selected.problems) {
    const std::string text = to_text(member.problem);
    if (member.held_out || !known.insert(text).second) continue;
    members.push_back({{"problem", text}, {"name", member.problem.name}});
  }
  return members;
}

}  // namespace

Result<void> add_goals(const Services& services, const std::string& text, Json& identity) {
  WB_TRY_ASSIGN(const auto goals, session::parse_goals(text));
  const auto rivals = identity["rivals"].get<std::vector<std::string>>();
  Json texts = Json::array(), outside = Json::object();
  for (const session::Goal& goal : goals) {
    const auto refused = [&](std::string cause, std::string next) {
      return Error{ErrorCode::usage, "open a session with the goal", goal.text, std::move(cause),
                   std::move(next)};
    };
    if (!goal.outside.empty()) {
      WB_TRY_ASSIGN(outside[goal.outside], problems_named_by(services, goal.outside));
    } else if (problems_of_goal(goal, identity["suite"]).empty()) {
      return refused("no problem of the suite has such a name",
                     "see `sdpa-wb suites` for the names; without 'on' all count, and "
                     "SUITE:NAMES takes those of another suite");
    }
    const bool is_known = goal.over == session::k_over_start ||
                          (goal.over == session::k_over_fastest && !rivals.empty()) ||
                          std::find(rivals.begin(), rivals.end(), goal.over) != rivals.end();
    if (!is_known) {
      return refused(goal.over + " is no rival of the session",
                     rivals.empty() ? "name it with --rivals, or set a goal over start"
                                    : fmt::format("give one of {}, or start or fastest",
                                                  fmt::join(rivals, ", ")));
    }
    texts.push_back(goal.text);
  }
  identity["goals"] = std::move(texts);
  if (!outside.empty()) identity["goal_problems"] = std::move(outside);
  return {};
}

Result<Json> begin_session(Context& context, const Json& identity, const fs::path& folder,
                           const Variant* stored, const std::function<Result<void>()>& on_opened) {
  context.let_go();  // clears floors and settings of earlier calls
  WB_TRY_ASSIGN(context.settings, settings_from_json(identity));
  WB_TRY_ASSIGN(const Json environment, environment_json(context));
  Json whole = identity;
  if (!whole.contains("list_prices")) {
    whole["list_prices"] =
        session::list_prices_json(session::shipped_prices(), environment.value("device", Json()));
  }
  context.settings.prices = session::prices_of(whole, Json(nullptr));
  WB_TRY_ASSIGN(context.session, Session::create(context.services.file_system,
                                                 context.services.clock, folder, whole));
  if (stored != nullptr) WB_TRY(context.session->store_variant(stored->id, stored->files));
  context.started = context.services.clock.steady_now();
  WB_TRY(context.log("environment_recorded", environment));
  if (on_opened) WB_TRY(on_opened());
  return run_baseline(context, 0);
}

Result<Json> close_session(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  const bool won = confirmed_gain(*view).has_value();
  WB_TRY(context.spending->debit_device("close"));  // nothing can be debited after the end
  WB_TRY(record_causes(context));
  WB_TRY(record_roadmap(context));
  WB_TRY(write_session_report(context));
  WB_TRY_ASSIGN(const std::string oid,
                context.session->close({{"reason", args.value("reason", "finished")},
                                        {"outcome", won ? "improved" : "unchanged"},
                                        {"recommendation", args.value("recommendation", "")}}));
  // Rendered again, since the report now includes the closing.
  WB_TRY(write_session_report(context));
  report_end_milestone(context, "closed", args.value("reason", "finished"));
  return closed_answer(*context.session, oid);
}

namespace {

Json wall_s(const SessionView& view) {
  const auto first = parse_iso8601(view.opened.t), last = parse_iso8601(view.last_t);
  if (!first || !last) return nullptr;
  return std::chrono::duration<double>(*last - *first).count();
}

/// The figures of one session that later ones of the series keep.
Json series_figures(const SessionView& view) {
  std::int64_t tries = 0, wins = 0;
  std::string start = text_of(view.opened.payload, "start_variant");
  for (const session::IterationView& iteration : view.iterations) {
    if (!iteration.closed) continue;
    const std::string outcome = text_of(iteration.closed->payload, "outcome");
    const bool is_baseline = outcome == "baseline";
    if (is_baseline && iteration.incumbent_changed) {
      start = text_of(iteration.incumbent_changed->payload, "to");
    }
    tries += is_baseline || outcome == "abandoned" ? 0 : 1;
    wins += outcome == "win" ? 1 : 0;
  }
  const auto gain = confirmed_gain(view);
  return {{"session", text_of(view.opened.payload, "session")},
          {"log_head", view.log_head},
          {"task_sha256", task_hash(view.opened.payload)},
          {"start", start},
          {"incumbent", view.incumbent},
          {"speedup", gain ? Json(*gain) : Json(nullptr)},
          {"iterations", tries},
          {"wins", wins},
          {"wall_s", wall_s(view)},
          {"cost", to_json(view.ledger)}};
}

/// Copies a value that is present and not null.
void take_over(Json& args, std::string_view key, const Json& value) {
  if (!args.contains(key) && !value.is_null()) args[std::string(key)] = value;
}

}  // namespace

std::string task_hash(const Json& opened) {
  Json problems = Json::array();
  for (const Json& member : opened.at("suite").at("problems")) {
    problems.push_back({member.at("problem"), member.at("weight"), member.at("held_out")});
  }
  return sha256_hex(Json{problems, opened.at("objective")}.dump());
}

Result<Predecessor> read_predecessor(const Services& services, const std::string& id) {
  WB_TRY_ASSIGN(const session::Session session, open_recorded(services, id));
  WB_TRY_ASSIGN(const SessionView view, session.view(session::FoldDepth::full));
  WB_TRY(settings_from_json(view.opened.payload));  // later code relies on its members
  const auto refuse = [&](std::string cause, std::string next) {
    return Error{ErrorCode::invalid, "go on from the session", session.folder().string(),
                 std::move(cause), std::move(next)};
  };
  if (view.status != session::SessionStatus::closed) {
    return refuse("it is not closed: its figures may still change",
                  "run `sdpa-wb resume` or `sdpa-wb close` with it first");
  }
  if (view.incumbent.empty()) return refuse("its baseline never closed", "go on from another");
  WB_TRY_ASSIGN(auto incumbent, stored_variant(session, view, view.incumbent));
  Json sessions = member_of(member_of(view.opened.payload, "series"), "sessions");
  if (!sessions.is_array()) sessions = Json::array();
  sessions.push_back(series_figures(view));
  return Predecessor{.variant = std::move(incumbent.first),
                     .configuration = std::move(incumbent.second),
                     .label = view.incumbent,
                     .opened = view.opened.payload,
                     .sessions = std::move(sessions)};
}

Json with_defaults_of(const Predecessor& before, Json args) {
  const Json& opened = before.opened;
  if (!args.contains("objective")) {
    const Json& objective = opened["objective"];
    take_over(args, "objective", objective["rule"]);
    take_over(args, "plan", objective["plan"]);
    take_over(args, "regime", member_of(objective, "regime"));
    take_over(args, "min_speedup", member_of(objective, "min_speedup"));
    take_over(args, "objective_problem", member_of(objective, "problem"));
  }
  const Json rates = opened.value("rates", Json::object());
  for (const auto& [name, value] : rates.items()) take_over(args, name, value);
  if (opened.contains("goals") && !args.contains("suite") && !args.contains("problem")) {
    std::string goals;
    for (const Json& goal : opened["goals"]) {
      goals += (goals.empty() ? "" : "; ") + goal.get<std::string>();
    }
    if (!goals.empty()) take_over(args, "goal", goals);
  }
  if (opened.contains("list_prices") && opened["list_prices"].is_null()) {
    take_over(args, "list_prices", "none");
  }
  Json rivals = opened.value("rivals", Json::array());
  if (rivals.empty()) rivals = {"none"};
  take_over(args, "rivals", rivals);
  take_over(args, "effort", member_of(opened, "effort"));
  take_over(args, "backend", member_of(opened, "backend"));
  return args;
}

}  // namespace wb::verbs
