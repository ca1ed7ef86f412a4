// SPDX-License-Identifier: MIT
// Calls of the playbook host: a session to continue, and calls that are answered from the log while
// they match.
#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/baseline.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/engine_state.hpp"
#include "engine/recorded_calls.hpp"
#include "engine/verb.hpp"
#include "engine/worker.hpp"

namespace wb::engine {

using session::FoldDepth;
using session::SessionView;

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
  WB_TRY_ASSIGN(state.replay, Replay::from_log(state.context.session->log(), view.verbs, replan));
  WB_TRY(state.context.log("playbook_started", started));
  return {};
}

Result<Json> Engine::playbook_call(std::string_view name, const Json& args) {
  State& state = *m_state;
  const RunnableVerb* verb = state.find(name);
  if (verb == nullptr || !verb->spec->in_playbook) return state.unknown_verb(name);
  WB_TRY_ASSIGN(const Json checked, check_arguments(*verb->spec, args));
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

}  // namespace wb::engine
