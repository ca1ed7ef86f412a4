// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "core/json.hpp"
#include "engine/baseline.hpp"
#include "engine/call.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/engine_state.hpp"
#include "engine/milestones.hpp"
#include "engine/recorded_calls.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

using session::FoldDepth;
using session::Session;
using session::SessionStatus;
using session::SessionView;

bool ends_session(ErrorCode code) {
  switch (code) {
    case ErrorCode::canceled:
    case ErrorCode::no_space:
    case ErrorCode::read_only:
    case ErrorCode::locked:
    case ErrorCode::io:
      return true;
    default:
      return false;
  }
}

Engine::Engine(Services services, VerbTable verbs)
    : m_state(std::make_unique<State>(std::move(services), std::move(verbs))) {}
Engine::~Engine() = default;

void Engine::register_body(std::string_view verb, Body body) {
  RunnableVerb* const found = m_state->find(verb);
  if (found == nullptr) throw std::logic_error("no verb " + std::string(verb) + " in the table");
  found->body = std::move(body);
}

const Session* Engine::session() const {
  return m_state->context.session ? &*m_state->context.session : nullptr;
}
const Services& Engine::services() const {
  return m_state->context.services;
}
Context& Engine::context() {
  return m_state->context;
}

RunnableVerb* Engine::State::find(std::string_view name) {
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const RunnableVerb& verb) {
    return verb.spec->name == name;
  });
  return found == verbs.end() ? nullptr : &*found;
}

Error Engine::State::unknown_verb(std::string_view name) const {
  std::vector<std::string> names;
  for (const RunnableVerb& verb : verbs) names.emplace_back(verb.spec->name);
  const std::string near = variant::did_you_mean(name, names);
  return Error{ErrorCode::usage, "call the verb", std::string(name), "there is no such verb",
               near.empty() ? fmt::format("verbs: {}", fmt::join(names, ", "))
                            : fmt::format("did you mean {}?", near)};
}

Result<void> Engine::State::hold_session(const fs::path& folder, bool restore) {
  if (context.session) return {};
  if (folder.empty()) {
    return Error{ErrorCode::usage, "find", "the session", "no session was named",
                 "give --session DIR"};
  }
  let_go();
  Result<void> taken = take_session(folder, restore);
  if (!taken) let_go();
  return taken;
}

void Engine::State::let_go() {
  context.let_go();
  next_call = 1;
  replay = Replay();
}

Result<void> Engine::State::take_session(const fs::path& folder, bool restore) {
  WB_TRY_ASSIGN(context.session,
                Session::open_owner(context.services.file_system, context.services.clock, folder));
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::brief));
  WB_TRY_ASSIGN(context.settings, settings_from_json(view.opened.payload));
  next_call = view.verbs.empty() ? 1 : view.verbs.back().n + 1;
  const auto opened = parse_iso8601(view.opened.t);
  const auto since_open =
      opened ? context.services.clock.now() - *opened : std::chrono::system_clock::duration::zero();
  context.started = context.services.clock.steady_now() -
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::max(since_open, std::chrono::system_clock::duration::zero()));
  context.reported_budget_share = budget_share(view, context.settings.budget, context.elapsed_s());
  if (view.status == SessionStatus::closed) {
    return Error{ErrorCode::invalid, "write to", folder.string(), "the session is closed",
                 "read it with `sdpa-wb report`, or open a new one"};
  }
  // Without a baseline there is nothing to restore; resume measures it again.
  if (restore && !view.incumbent.empty()) {
    WB_TRY(abandon_in_flight(context, view, k_was_in_flight));
  }
  return {};
}

Result<void> Engine::State::need_subjects() {
  if (context.incumbent) return {};
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  return view->incumbent.empty() ? Result<void>() : restore_context(context);
}

Result<Json> Engine::State::run_body(Engine& engine, const RunnableVerb& verb, const Json& args,
                                     const fs::path& folder) {
  if (!verb.body) {
    return Error{ErrorCode::internal, "call the verb", std::string(verb.spec->name),
                 "it has no body here", "the verb is offered by the command line only"};
  }
  return verb.body(Call{engine, context, context.services, args, folder, in_playbook});
}

Result<Json> Engine::call(std::string_view name, const Json& args, const fs::path& session,
                          std::optional<std::string> request_id) {
  const RunnableVerb* verb = m_state->find(name);
  if (verb == nullptr) return m_state->unknown_verb(name);
  const VerbSpec& spec = *verb->spec;
  WB_TRY_ASSIGN(const Json checked, check_arguments(spec, args));
  WB_TRY(m_state->context.check_stop());
  const bool writes =
      spec.session == SessionNeed::writes ||
      (!spec.writes_if.empty() && checked.value(std::string(spec.writes_if), false)) ||
      (spec.session == SessionNeed::optional && !session.empty());
  const bool inside = writes && !spec.drives;
  if (inside) {
    const Result<void> held = m_state->hold_session(session, true);
    if (!held.ok() && held.error().code == ErrorCode::invalid && request_id && !spec.reads_only) {
      WB_TRY_ASSIGN(const auto before, m_state->answered_by_closed(
                                           session, *request_id, std::string(spec.name), checked));
      if (before) return replay_answer(*before);
    }
    WB_TRY(held);
  }
  if (inside && !spec.only_logs) WB_TRY(m_state->need_subjects());
  const bool is_recorded = inside && !spec.reads_only;
  return is_recorded ? m_state->run_recorded(*this, *verb, checked, session, request_id)
                     : m_state->run_body(*this, *verb, checked, session);
}

Result<void> Engine::pause(std::string_view reason) {
  Context& context = m_state->context;
  context.drop_worker();  // closing the wire cancels running work
  if (!context.session) return {};
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::brief));
  if (view.status == SessionStatus::closed) return {};
  WB_TRY(abandon_in_flight(context, view, reason));
  WB_TRY(context.log("session_paused", {{"reason", reason}}));
  report_end_milestone(context, "paused", reason);
  m_state->let_go();
  return {};
}

}  // namespace wb::engine
