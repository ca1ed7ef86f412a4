// SPDX-License-Identifier: MIT
// Answers calls: which of them hold a session, are recorded, or come from a playbook.
#include "engine/engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/baseline.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/recorded_calls.hpp"
#include "engine/services.hpp"
#include "engine/spending.hpp"
#include "engine/worker.hpp"
#include "session/session.hpp"

namespace wb::engine {

using session::FoldDepth;
using session::Session;
using session::SessionStatus;
using session::SessionView;

namespace {

constexpr std::string_view k_was_in_flight = "in flight when the session stopped";

}  // namespace

/// State between calls.
struct Engine::State {
  State(Services services, VerbTable table)
      : context(std::move(services)), verbs(std::move(table)), calls(context) {}
  Context context;
  VerbTable verbs;
  RecordedCalls calls;
  bool in_playbook = false;  ///< the running call comes from the playbook

  /// nullptr when there is none.
  RunnableVerb* find(std::string_view name);
  /// The error for an unknown verb, with a did-you-mean.
  [[nodiscard]] Error unknown_verb(std::string_view name) const;

  /// `restore`: abandon an iteration in flight. After an error nothing is held.
  Result<void> hold_session(const fs::path& folder, bool restore);
  /// The part of hold_session() that may fail.
  Result<void> take_session(const fs::path& folder, bool restore);
  /// Releases the session; later calls see nothing of it or of its calls.
  void let_go();
  /// Rebuilds incumbent and rivals of the held session, for verbs that measure.
  Result<void> need_subjects();
  Result<Json> run_body(Engine& engine, const RunnableVerb& verb, const Json& args,
                        const fs::path& folder);
  Result<Json> run_recorded(Engine& engine, const RunnableVerb& verb, const Json& args,
                            const fs::path& folder, const std::optional<std::string>& request_id);
  /// The first answer to a repeated request in a session that is closed and so not held any more.
  Result<std::optional<Json>> answered_by_closed(const fs::path& folder,
                                                 const std::string& request_id,
                                                 const std::string& verb, const Json& args);
};

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

void Engine::register_body(std::string_view verb, VerbBody body) {
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
  const auto found = std::find_if(verbs.begin(), verbs.end(),
                                  [&](const RunnableVerb& verb) { return verb.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

Error Engine::State::unknown_verb(std::string_view name) const {
  std::vector<std::string> names;
  for (const RunnableVerb& verb : verbs) names.emplace_back(verb.name);
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
  calls.forget();
}

Result<void> Engine::State::take_session(const fs::path& folder, bool restore) {
  WB_TRY_ASSIGN(context.session,
                Session::open_owner(context.services.file_system, context.services.clock, folder));
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::brief));
  WB_TRY_ASSIGN(context.settings, settings_from_json(view.opened.payload));
  calls.follow(view);
  const auto opened = parse_iso8601(view.opened.t);
  const auto since_open =
      opened ? context.services.clock.now() - *opened : std::chrono::system_clock::duration::zero();
  context.started = context.services.clock.steady_now() -
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::max(since_open, std::chrono::system_clock::duration::zero()));
  context.spending->reported_budget_share =
      budget_share(view, context.settings.budget, context.elapsed_s());
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
    return Error{ErrorCode::internal, "call the verb", std::string(verb.name),
                 "it has no body here", "the verb is offered by the command line only"};
  }
  return verb.body(engine, args, folder, in_playbook);
}

Result<std::optional<Json>> Engine::State::answered_by_closed(const fs::path& folder,
                                                              const std::string& request_id,
                                                              const std::string& verb,
                                                              const Json& args) {
  if (context.session || folder.empty()) return std::optional<Json>{};
  WB_TRY_ASSIGN(context.session,
                Session::open_owner(context.services.file_system, context.services.clock, folder));
  const auto before = calls.answered_before(request_id, verb, args);
  let_go();
  return before;
}

Result<Json> Engine::State::run_recorded(Engine& engine, const RunnableVerb& verb, const Json& args,
                                         const fs::path& folder,
                                         const std::optional<std::string>& request_id) {
  const std::string name(verb.name);
  return calls.run({name, args, request_id, in_playbook},
                   [&] { return run_body(engine, verb, args, folder); });
}

Result<Json> Engine::call(std::string_view name, const Json& args, const fs::path& session,
                          std::optional<std::string> request_id) {
  const RunnableVerb* verb = m_state->find(name);
  if (verb == nullptr) return m_state->unknown_verb(name);
  WB_TRY_ASSIGN(const Json checked, verb->check(args));
  WB_TRY(m_state->context.check_stop());
  const bool inside =
      verb->writes || (verb->writes_if_named && !session.empty()) ||
      (!verb->writes_if.empty() && checked.value(std::string(verb->writes_if), false));
  if (inside) {
    const Result<void> held = m_state->hold_session(session, true);
    if (!held.ok() && held.error().code == ErrorCode::invalid && request_id && !verb->reads_only) {
      WB_TRY_ASSIGN(const auto before,
                    m_state->answered_by_closed(session, *request_id, std::string(name), checked));
      if (before) return replay_answer(*before);
    }
    WB_TRY(held);
  }
  if (inside && !verb->only_logs) WB_TRY(m_state->need_subjects());
  const bool is_recorded = inside && !verb->reads_only;
  return is_recorded ? m_state->run_recorded(*this, *verb, checked, session, request_id)
                     : m_state->run_body(*this, *verb, checked, session);
}

Result<void> Engine::pause(std::string_view reason) {
  Context& context = m_state->context;
  context.worker->drop();  // closing the wire cancels running work
  if (!context.session) return {};
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::brief));
  if (view.status == SessionStatus::closed) return {};
  WB_TRY(abandon_in_flight(context, view, reason));
  WB_TRY(context.spending->debit_device("interrupted"));  // of a call outside iterations
  WB_TRY(context.log("session_paused", {{"reason", reason}}));
  report_end_milestone(context, "paused", reason);
  m_state->let_go();
  return {};
}

void Engine::on_opened(std::function<Result<void>()> hook) {
  m_state->context.on_opened = std::move(hook);
}

Result<std::int64_t> Engine::resume_session(const fs::path& folder) {
  Context& context = m_state->context;
  WB_TRY(m_state->hold_session(folder, false));
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::brief));
  const auto changed = environment_since_open(context);
  if (!changed) {
    m_state->let_go();  // not ours to continue, so not even a pause is written
    return changed.error();
  }
  WB_TRY(context.log("session_resumed", {{"environment_changed", *changed}}));
  const std::int64_t abandoned = view.in_flight() == nullptr ? 0 : 1;
  const std::int64_t next = view.iterations.empty() ? 0 : view.iterations.back().number + 1;
  WB_TRY(abandon_in_flight(context, view, k_was_in_flight));
  if (view.incumbent.empty()) {
    WB_TRY(run_baseline(context, next));
    return abandoned;
  }
  WB_TRY(restore_context(context));
  return abandoned;
}

Result<void> Engine::start_playbook(std::string_view path, std::string_view source,
                                    const Json& args, std::uint64_t seed, bool replan) {
  State& state = *m_state;
  WB_TRY_ASSIGN(const SessionView view, state.context.session->view(FoldDepth::full));
  const Json started{{"path", path},
                     {"sha256", sha256_hex(source)},
                     {"args", args},
                     {"seed", seed},
                     {"replan", replan}};
  if (view.playbook && !replan) {
    for (const char* key : {"sha256", "args", "seed"}) {
      if (view.playbook->payload.value(key, Json()) == started[key]) continue;
      return Error{ErrorCode::invalid, "resume the playbook", std::string(path),
                   fmt::format("its {} changed since the session started",
                               std::string_view(key) == "sha256" ? "text" : key),
                   "restore it, or accept the change with --replan"};
    }
  }
  WB_TRY_ASSIGN(state.calls.replay,
                Replay::from_log(state.context.session->log(), view.verbs, replan));
  WB_TRY(state.context.log("playbook_started", started));
  return {};
}

Result<Json> Engine::playbook_call(std::string_view name, const Json& args) {
  State& state = *m_state;
  const RunnableVerb* verb = state.find(name);
  if (verb == nullptr || !verb->in_playbook) return state.unknown_verb(name);
  WB_TRY_ASSIGN(const Json checked, verb->check(args));
  WB_TRY(state.context.check_stop());
  if (!state.context.session) {
    return Error{ErrorCode::invalid, "call", std::string(name), "the session is closed",
                 "make close() its last call"};
  }
  WB_TRY_ASSIGN(const auto recorded, state.calls.replay.next(name, checked));
  if (recorded) {
    WB_TRY_ASSIGN(const Json answer, with_blob(*state.context.session, *recorded, "result"));
    return replay_answer(answer);
  }
  state.in_playbook = true;
  Result<Json> result = state.run_recorded(*this, *verb, checked, {}, std::nullopt);
  state.in_playbook = false;
  return result;
}

bool Engine::replaying() const {
  return m_state->calls.replay.pending();
}

Result<std::optional<Json>> Engine::recorded_playbook() const {
  WB_TRY_ASSIGN(const SessionView* view, m_state->context.session->current(FoldDepth::full));
  if (!view->playbook) return std::optional<Json>{};
  return std::optional<Json>(view->playbook->payload);
}

}  // namespace wb::engine
