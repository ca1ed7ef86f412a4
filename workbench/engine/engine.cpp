// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "engine/diagnose.hpp"
#include "engine/engine_state.hpp"
#include "engine/evaluation_exchange.hpp"
#include "engine/jobs.hpp"
#include "engine/milestones.hpp"
#include "engine/recorded.hpp"
#include "engine/verb_bodies.hpp"

namespace wb::engine {

using session::FoldDepth;
using session::Session;
using session::SessionStatus;
using session::SessionView;

namespace {

Error unknown_verb(std::string_view verb) {
  std::vector<std::string> names;
  for (const auto& spec : verb_table()) names.emplace_back(spec.name);
  const std::string near = variant::did_you_mean(verb, names);
  return Error{ErrorCode::usage, "call the verb", std::string(verb), "there is no such verb",
               near.empty() ? fmt::format("verbs: {}", fmt::join(names, ", "))
                            : fmt::format("did you mean {}?", near)};
}

Json error_json(const Error& error) {
  return {{"code", to_string(error.code)}, {"message", error.message()}};
}

constexpr std::string_view k_was_in_flight = "in flight when the session stopped";

}  // namespace

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

Engine::Engine(Services services) : m_state(std::make_unique<State>(std::move(services))) {}
Engine::~Engine() = default;

void Engine::register_body(std::string_view verb, Body body) {
  m_state->bodies.insert_or_assign(std::string(verb), std::move(body));
}

const Session* Engine::session() const {
  return m_state->context.session ? &*m_state->context.session : nullptr;
}
const Services& Engine::services() const {
  return m_state->context.services;
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
  context.told_budget_share = budget_share(view, context.settings.budget, context.elapsed_s());
  if (view.status == SessionStatus::closed) {
    return Error{ErrorCode::invalid, "write to", folder.string(), "the session is closed",
                 "read it with `sdpa-wb report`, or open a new one"};
  }
  // Without a baseline there is nothing to go on from; resume measures it again.
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

Result<std::optional<Json>> Engine::State::answered_before(const std::string& request_id,
                                                           const std::string& verb,
                                                           const Json& args) {
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  const SessionView& view = *current;
  for (const session::VerbRecord& record : view.verbs) {
    // The call that closed the session has no answer in its log.
    const bool has_closed = &record == &view.verbs.back() && record.verb == "close" &&
                            view.status == SessionStatus::closed;
    if (record.request_id != request_id || (!record.answer && !has_closed)) continue;
    if (record.verb != verb) {
      return Error{ErrorCode::usage, "repeat the request", request_id,
                   fmt::format("it was {}, not {}", record.verb, verb), "use a new request_id"};
    }
    if (record.args_sha256 != arguments_hash(args)) {
      return Error{ErrorCode::usage, "repeat the request", request_id,
                   "its first call had other arguments", "use a new request_id"};
    }
    if (!record.answer) {
      WB_TRY_ASSIGN(const std::string oid, context.session->commit_of_closing());
      return std::optional<Json>(Json{{"result", closed_answer(oid)}});
    }
    WB_TRY_ASSIGN(Json answer, with_blob(*context.session, *record.answer, "result"));
    return std::optional<Json>(std::move(answer));
  }
  return std::optional<Json>{};
}

Result<std::optional<Json>> Engine::State::answered_by_closed(const fs::path& folder,
                                                              const std::string& request_id,
                                                              const std::string& verb,
                                                              const Json& args) {
  if (context.session || folder.empty()) return std::optional<Json>{};
  WB_TRY_ASSIGN(context.session,
                Session::open_owner(context.services.file_system, context.services.clock, folder));
  const auto before = answered_before(request_id, verb, args);
  let_go();
  return before;
}

Result<Json> Engine::State::run_recorded(Engine& engine, const VerbSpec& verb, const Json& args,
                                         const fs::path& folder,
                                         const std::optional<std::string>& request_id) {
  if (request_id) {
    WB_TRY_ASSIGN(const auto before, answered_before(*request_id, std::string(verb.name), args));
    if (before) return replay_answer(*before);
  }
  const std::int64_t n = next_call++;
  Json called{{"n", n},
              {"verb", verb.name},
              {"args_sha256", arguments_hash(args)},
              {"args", args},
              {"request_id", request_id ? Json(*request_id) : Json(nullptr)},
              {"caller", in_playbook ? "playbook" : "client"},
              {"dropped_from", replay.take_dropped_from()}};
  WB_TRY(move_to_blob(*context.session, called, "args"));
  WB_TRY(context.log("verb_called", std::move(called)));
  Result<Json> result = run_body(engine, verb, args, folder);
  // Whatever failed first: nothing can be kept any more, and nobody is to correct a playbook.
  if (!result && context.session) WB_TRY(context.session->check_place());
  // What stopped the session, not the call, leaves the call without an answer: it runs again.
  if (!result && ends_session(result.error().code)) return result;
  if (verb.name == "close" && result) {
    let_go();  // nothing follows session_closed
    return result;
  }
  Json answer{{"n", n}};
  if (result) {
    answer["result"] = *result;
  } else {
    answer["error"] = error_json(result.error());
  }
  WB_TRY(move_to_blob(*context.session, answer, "result"));
  WB_TRY(context.log("verb_answered", std::move(answer)));
  return result;
}

Result<Json> Engine::call(std::string_view name, const Json& args, const fs::path& session,
                          std::optional<std::string> request_id) {
  const VerbSpec* verb = find_verb(name);
  if (verb == nullptr) return unknown_verb(name);
  WB_TRY_ASSIGN(const Json checked, check_arguments(*verb, args));
  WB_TRY(m_state->context.check_stop());
  const bool inside = verb->session == SessionNeed::writes || asks_to_measure(*verb, checked) ||
                      (verb->session == SessionNeed::optional && !session.empty());
  const bool has_own_body = m_state->bodies.contains(verb->name);
  if (inside && !has_own_body) {
    const Result<void> held = m_state->hold_session(session, true);
    if (!held.ok() && held.error().code == ErrorCode::invalid && request_id && !verb->reads_only) {
      WB_TRY_ASSIGN(const auto before, m_state->answered_by_closed(
                                           session, *request_id, std::string(verb->name), checked));
      if (before) return replay_answer(*before);
    }
    WB_TRY(held);
  }
  // A session can be closed where nothing can be measured any more.
  const bool only_writes = verb->name == "note" || verb->name == "record_decision" ||
                           verb->name == "record_usage" || verb->name == "close";
  if (inside && !has_own_body && !only_writes) WB_TRY(m_state->need_subjects());
  const bool recorded = inside && !has_own_body && !verb->reads_only;
  return recorded ? m_state->run_recorded(*this, *verb, checked, session, request_id)
                  : m_state->run_body(*this, *verb, checked, session);
}

Result<Json> Engine::evaluate(const Json& request) {
  Context& context = m_state->context;
  if (context.session) {
    return Error{ErrorCode::usage, "evaluate with", "this engine", "it holds a session",
                 "make another engine: one evaluates for others, one owns a session"};
  }
  WB_TRY(context.check_stop());
  WB_TRY_ASSIGN(const EvaluationRequest wanted, request_from_json(request));
  Result<EvaluationReply> reply = evaluate_request(context, wanted);
  // The next call, of another session maybe, sees nothing of it but the worker.
  context.settings = {};
  context.settings.backend = wanted.backend;
  context.floors.clear();
  if (!reply) return std::move(reply).error();
  return to_json(*reply, wanted.suite);
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
    m_state->let_go();  // not ours to go on with: not even a pause is written
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
  WB_TRY_ASSIGN(state.replay, Replay::from_log(state.context.session->log(), view.verbs, replan));
  WB_TRY(state.context.log("playbook_started", started));
  return {};
}

Result<Json> Engine::playbook_call(std::string_view name, const Json& args) {
  State& state = *m_state;
  const VerbSpec* verb = find_verb(name);
  if (verb == nullptr || !verb->in_playbook) return unknown_verb(name);
  WB_TRY_ASSIGN(const Json checked, check_arguments(*verb, args));
  WB_TRY(state.context.check_stop());
  if (!state.context.session) {
    return Error{ErrorCode::invalid, "call", std::string(name), "the session is closed",
                 "make close() its last call"};
  }
  WB_TRY_ASSIGN(const auto recorded, state.replay.next(name, checked));
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
  return m_state->replay.pending();
}

Result<std::optional<Json>> Engine::recorded_playbook() const {
  WB_TRY_ASSIGN(const SessionView* view, m_state->context.session->current(FoldDepth::full));
  if (!view->playbook) return std::optional<Json>{};
  return std::optional<Json>(view->playbook->payload);
}

Result<void> Engine::pause(std::string_view reason) {
  Context& context = m_state->context;
  context.drop_worker();  // closing the wire cancels what runs there
  if (!context.session) return {};
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::brief));
  if (view.status == SessionStatus::closed) return {};
  WB_TRY(abandon_in_flight(context, view, reason));
  WB_TRY(context.log("session_paused", {{"reason", reason}}));
  tell_end(context, "paused", reason);
  m_state->let_go();
  return {};
}

}  // namespace wb::engine
