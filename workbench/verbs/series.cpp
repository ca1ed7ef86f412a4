// SPDX-License-Identifier: MIT
#include "verbs/series.hpp"

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"

namespace wb::verbs {

using engine::confirmed_gain;
using engine::member_of;
using engine::Services;
using engine::settings_from_json;
using engine::stored_variant;
using engine::text_of;
using session::SessionView;

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
  Json rivals = opened.value("rivals", Json::array());
  if (rivals.empty()) rivals = {"none"};
  take_over(args, "rivals", rivals);
  take_over(args, "effort", member_of(opened, "effort"));
  take_over(args, "backend", member_of(opened, "backend"));
  return args;
}

}  // namespace wb::verbs
