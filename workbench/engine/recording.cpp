// SPDX-License-Identifier: MIT
// Records calls inside a session with their answers, and answers repeated request_ids.
#include <fmt/format.h>

#include "core/json.hpp"
#include "engine/closing.hpp"
#include "engine/engine.hpp"
#include "engine/engine_state.hpp"
#include "engine/recorded_calls.hpp"

namespace wb::engine {

using session::FoldDepth;
using session::Session;
using session::SessionStatus;
using session::SessionView;

namespace {

/// The call that closes a session has no answer in its log, since nothing follows session_closed.
constexpr std::string_view k_closing_verb = "close";

Json error_json(const Error& error) {
  return {{"code", to_string(error.code)}, {"message", error.message()}};
}

}  // namespace

Result<std::optional<Json>> Engine::State::answered_before(const std::string& request_id,
                                                           const std::string& verb,
                                                           const Json& args) {
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  const SessionView& view = *current;
  for (const session::VerbRecord& record : view.verbs) {
    const bool has_closed = &record == &view.verbs.back() && record.verb == k_closing_verb &&
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
      return std::optional<Json>(Json{{"result", closed_answer(*context.session, oid)}});
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

Result<Json> Engine::State::run_recorded(Engine& engine, const RunnableVerb& verb, const Json& args,
                                         const fs::path& folder,
                                         const std::optional<std::string>& request_id) {
  if (request_id) {
    WB_TRY_ASSIGN(const auto before,
                  answered_before(*request_id, std::string(verb.spec->name), args));
    if (before) return replay_answer(*before);
  }
  const std::int64_t n = next_call++;
  Json called{{"n", n},
              {"verb", verb.spec->name},
              {"args_sha256", arguments_hash(args)},
              {"args", args},
              {"request_id", request_id ? Json(*request_id) : Json(nullptr)},
              {"caller", in_playbook ? "playbook" : "client"},
              {"dropped_from", replay.take_dropped_from()}};
  WB_TRY(move_to_blob(*context.session, called, "args"));
  WB_TRY(context.log("verb_called", std::move(called)));
  Result<Json> result = run_body(engine, verb, args, folder);
  // Report a removed session first: nothing can be stored any more, and the playbook is not at
  // fault.
  if (!result && context.session) WB_TRY(context.session->check_place());
  // An error of the environment leaves the call without an answer, so that it runs again.
  if (!result && ends_session(result.error().code)) return result;
  if (verb.spec->name == k_closing_verb && result) {
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

}  // namespace wb::engine
