// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "engine/advise.hpp"
#include "engine/agent_verbs.hpp"
#include "engine/analyze_verb.hpp"
#include "engine/audit_verb.hpp"
#include "engine/context.hpp"
#include "engine/diagnose.hpp"
#include "engine/experience.hpp"
#include "engine/export.hpp"
#include "engine/jobs.hpp"
#include "engine/memory_verbs.hpp"
#include "engine/milestones.hpp"
#include "engine/page_verbs.hpp"
#include "engine/recorded.hpp"
#include "engine/replay.hpp"
#include "engine/trace_verbs.hpp"
#include "engine/verb_bodies.hpp"

namespace wb {
namespace {

Error unknown_verb(std::string_view verb) {
  std::vector<std::string> names;
  for (const auto& spec : verb_table()) names.emplace_back(spec.name);
  const std::string near = did_you_mean(verb, names);
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

struct Engine::State {
  explicit State(Services services) : context(std::move(services)) {}
  Context context;
  std::map<std::string, Body, std::less<>> bodies;
  std::int64_t next_call = 1;  ///< n of the next recorded call
  Replay replay;
  bool in_playbook = false;  ///< the call that runs comes from the playbook

  /// `restore`: an iteration that was in flight is abandoned.
  Result<void> hold_session(const fs::path& folder, bool restore);
  /// Incumbent and rivals of a held session, built again for what is going to be measured.
  Result<void> need_subjects();
  Result<Json> run_body(Engine& engine, const VerbSpec& verb, const Json& args,
                        const fs::path& folder);
  Result<Json> run_reading(const VerbSpec& verb, const Json& args, const fs::path& folder);
  Result<Json> run_recorded(Engine& engine, const VerbSpec& verb, const Json& args,
                            const fs::path& folder, const std::optional<std::string>& request_id);
  Result<Json> close_session(const Json& args);
  Result<std::optional<Json>> answered_before(const std::string& request_id,
                                              const std::string& verb, const Json& args);
};

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
    context.session.reset();
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

Result<Json> Engine::State::run_reading(const VerbSpec& verb, const Json& args,
                                        const fs::path& folder) {
  const Session* read = context.session ? &*context.session : nullptr;
  const bool is_code = verb.name == "show" && asks_for_code(args);
  if (verb.name == "analyze" || verb.name == "diagnose") {
    WB_TRY(check_analyze_arguments(args, context.session.has_value() || !folder.empty()));
    if (asks_for_files(args) && in_playbook) {
      return Error{ErrorCode::usage, "read", "files", "a playbook reads none",
                   "diagnose the session that it runs in"};
    }
    if (asks_for_files(args) && args.contains("iteration")) {
      return Error{ErrorCode::usage, "diagnose", "an iteration", "files have none",
                   "leave out the files or --iteration"};
    }
    if (asks_for_files(args)) {
      return verb.name == "analyze" ? verb_analyze_files(context.services.file_system, args)
                                    : verb_diagnose_files(context.services, args);
    }
  }
  if (!context.session) {
    if (folder.empty() && is_code) return verb_show_code(context, nullptr, args);
    if (folder.empty()) {
      return Error{ErrorCode::usage, "read", "the session", "no session was named",
                   "give --session DIR"};
    }
    if (verb.name == "get_job") return verb_get_job(context, args, folder);
    if (verb.name == "cancel_job") return verb_cancel_job(context, folder);
    WB_TRY_ASSIGN(read, context.recent.read(context.services.file_system, folder));
  }
  const Session& session = *read;
  if (is_code) return verb_show_code(context, &session, args);
  if (verb.name == "analyze") {
    WB_TRY_ASSIGN(const SessionView view, session.view(FoldDepth::full));
    return verb_analyze_session(view);
  }
  if (verb.name == "status") return verb_status(session, context.services.clock);
  if (verb.name == "report") {
    if (in_playbook && args.contains("output")) {
      return Error{ErrorCode::usage, "write", "the report", "a playbook writes no files",
                   "take its text from the answer"};
    }
    return verb_report(context.services.file_system, session, args);
  }
  if (verb.name == "brief") return verb_brief(session);
  if (verb.name == "history") return verb_history(session, args);
  if (verb.name == "diagnose") return verb_diagnose(context.services, session, args);
  if (verb.name == "advise") return verb_advise(context.services, session, args);
  if (verb.name == "read_ref") return verb_read_ref(context, session, args);
  if (verb.name == "proof") return verb_proof(context, session, args);
  if (verb.name == "export") return verb_export(context, session, args);
  return verb_show(session, args);
}

Result<Json> Engine::State::close_session(const Json& args) {
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  const bool won = confirmed_gain(*view).has_value();
  WB_TRY(record_causes(context));
  WB_TRY(record_roadmap(context));
  WB_TRY(write_session_report(context));
  WB_TRY_ASSIGN(const std::string oid,
                context.session->close({{"reason", args.value("reason", "finished")},
                                        {"outcome", won ? "improved" : "unchanged"},
                                        {"recommendation", args.value("recommendation", "")}}));
  // The report now knows how the session ended; the log and this page agree.
  WB_TRY(write_session_report(context));
  tell_end(context, "closed", args.value("reason", "finished"));
  const fs::path folder = context.session->folder();
  return Json{{"session", folder.string()},
              {"report", (folder / "reports" / "session.md").string()},
              {"commit", oid}};
}

Result<Json> Engine::State::run_body(Engine& engine, const VerbSpec& verb, const Json& args,
                                     const fs::path& folder) {
  if (const auto body = bodies.find(verb.name); body != bodies.end()) {
    return body->second(engine, args, folder);
  }
  if (verb.name == "open") return verb_open(context, args, folder);
  if (verb.name == "doctor") return verb_doctor(context);
  if (verb.name == "suites") return verb_suites(context, args);
  if (verb.name == "kernels") return verb_kernels(context, args);
  if (verb.name == "new") return verb_new(context, args, folder);
  if (verb.name == "diff") return verb_diff(context.services, args);
  if (verb.name == "audit") return verb_audit(context.services, args, folder);
  if (verb.name == "import_report") return verb_import_report(context.services, args);
  if (verb.name == "gc") return verb_gc(context, args);
  if (verb.name == "best") return verb_best(context, args);
  if (verb.name == "site") return verb_site(context, args);
  if (verb.name == "experience") return verb_experience(context.services, args);
  if (verb.name == "pack") return verb_pack(context, args);
  if (verb.name == "reproduce") return verb_reproduce(context, args);
  if (verb.name.starts_with("trace_")) return verb_trace(context, verb.name, args);
  if (verb.name == "build") return verb_build(context, args);
  if (verb.name == "check") return verb_check(context, args);
  if (verb.name == "measure") return verb_measure(context, args);
  if (verb.name == "profile") return verb_profile(context, args);
  if (verb.name == "sanitize") return verb_sanitize(context, args);
  if (verb.name == "compare") return verb_compare(context, args);
  if (asks_to_measure(verb, args)) {
    WB_TRY(check_analyze_arguments(args, true));
    if (args.contains("iteration")) {
      return Error{ErrorCode::usage, "measure", "an iteration",
                   "only the incumbent is measured again", "leave out --measure or --iteration"};
    }
    return verb_diagnose_measuring(context, args);
  }
  if (verb.session == SessionNeed::reads) return run_reading(verb, args, folder);
  const bool proposes = verb.name == "propose" || verb.name == "propose_many";
  if (proposes || verb.name == "iterate" || verb.name == "tune" || verb.name == "race") {
    if (!context.incumbent) {
      return Error{ErrorCode::invalid, std::string(verb.name) + " in",
                   context.session->folder().string(), "its baseline never closed",
                   "run `sdpa-wb resume` first"};
    }
    if (!context.device_checked) WB_TRY(environment_since_open(context));
    if (verb.name == "propose") return verb_propose(context, args);
    if (verb.name == "propose_many") return verb_propose_many(context, args);
    if (verb.name == "tune") return verb_tune(context, args);
    return verb.name == "race" ? verb_race(context, args) : verb_iterate(context, args);
  }
  if (verb.name == "note") {
    WB_TRY_ASSIGN(const std::int64_t seq,
                  context.log("note", {{"text", args["text"]}, {"iteration", nullptr}}));
    return Json{{"event", seq}};
  }
  if (verb.name == "record_decision") {
    WB_TRY_ASSIGN(
        const std::int64_t seq,
        context.log("decision_recorded", {{"question", args["question"]},
                                          {"options", args.value("options", Json::array())},
                                          {"choice", args["choice"]},
                                          {"reason", args["reason"]}}));
    return Json{{"event", seq}};
  }
  if (verb.name == "record_usage") return verb_record_usage(context, args);
  if (verb.name == "close") return close_session(args);
  return Error{ErrorCode::internal, "call the verb", std::string(verb.name), "it has no body here",
               "the verb is offered by the command line only"};
}

Result<std::optional<Json>> Engine::State::answered_before(const std::string& request_id,
                                                           const std::string& verb,
                                                           const Json& args) {
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  const SessionView& view = *current;
  for (const VerbRecord& record : view.verbs) {
    if (record.request_id != request_id || !record.answer) continue;
    if (record.verb != verb) {
      return Error{ErrorCode::usage, "repeat the request", request_id,
                   fmt::format("it was {}, not {}", record.verb, verb), "use a new request_id"};
    }
    if (record.args_sha256 != arguments_hash(args)) {
      return Error{ErrorCode::usage, "repeat the request", request_id,
                   "its first call had other arguments", "use a new request_id"};
    }
    WB_TRY_ASSIGN(Json answer, with_blob(*context.session, *record.answer, "result"));
    return std::optional<Json>(std::move(answer));
  }
  return std::optional<Json>{};
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
  // What stopped the session, not the call, leaves the call without an answer: it runs again.
  if (!result && ends_session(result.error().code)) return result;
  if (verb.name == "close" && result) return result;  // nothing follows session_closed
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
  if (inside && !has_own_body) WB_TRY(m_state->hold_session(session, true));
  // A session can be closed where nothing can be measured any more.
  const bool only_writes = verb->name == "note" || verb->name == "record_decision" ||
                           verb->name == "record_usage" || verb->name == "close";
  if (inside && !has_own_body && !only_writes) WB_TRY(m_state->need_subjects());
  const bool recorded = inside && !has_own_body && !verb->reads_only;
  return recorded ? m_state->run_recorded(*this, *verb, checked, session, request_id)
                  : m_state->run_body(*this, *verb, checked, session);
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
    context.session.reset();  // not ours to go on with: not even a pause is written
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
  context.session.reset();
  return {};
}

}  // namespace wb
