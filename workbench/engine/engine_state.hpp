// SPDX-License-Identifier: MIT
// Private to engine: what an engine keeps between calls. engine.cpp answers calls, recording.cpp
// records and repeats those of a session, playbook_calls.cpp replays those of a playbook.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/call.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/replay.hpp"

namespace wb::engine {

struct Engine::State {
  State(Services services, VerbTable table)
      : context(std::move(services)), verbs(std::move(table)) {}
  Context context;
  VerbTable verbs;
  std::int64_t next_call = 1;  ///< n of the next recorded call
  Replay replay;
  bool in_playbook = false;  ///< the call that runs comes from the playbook

  /// nullptr when there is none.
  RunnableVerb* find(std::string_view name);
  /// That there is none, with a did-you-mean.
  [[nodiscard]] Error unknown_verb(std::string_view name) const;

  /// `restore`: an iteration that was in flight is abandoned. What fails holds nothing.
  Result<void> hold_session(const fs::path& folder, bool restore);
  Result<void> take_session(const fs::path& folder, bool restore);  ///< its part that may fail
  /// Releases the session; what comes next sees nothing of it or of its calls.
  void let_go();
  /// Incumbent and rivals of a held session, built again for what is going to be measured.
  Result<void> need_subjects();
  Result<Json> run_body(Engine& engine, const RunnableVerb& verb, const Json& args,
                        const fs::path& folder);
  Result<Json> run_recorded(Engine& engine, const RunnableVerb& verb, const Json& args,
                            const fs::path& folder, const std::optional<std::string>& request_id);
  /// What a repeated call was answered first, in the session that is held.
  Result<std::optional<Json>> answered_before(const std::string& request_id,
                                              const std::string& verb, const Json& args);
  /// The same of a session that may not be held any more, since it is closed.
  Result<std::optional<Json>> answered_by_closed(const fs::path& folder,
                                                 const std::string& request_id,
                                                 const std::string& verb, const Json& args);
};

inline constexpr std::string_view k_was_in_flight = "in flight when the session stopped";

}  // namespace wb::engine
