// SPDX-License-Identifier: MIT
// Private to engine: state between calls. engine.cpp answers calls, recording.cpp records and
// repeats calls of a session, playbook_calls.cpp replays those of a playbook.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "engine/call.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/recorded_calls.hpp"

namespace wb::engine {

struct Engine::State {
  State(Services services, VerbTable table)
      : context(std::move(services)), verbs(std::move(table)) {}
  Context context;
  VerbTable verbs;
  std::int64_t next_call = 1;  ///< n of the next recorded call
  Replay replay;
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
  /// The first answer to a repeated request, in the held session.
  Result<std::optional<Json>> answered_before(const std::string& request_id,
                                              const std::string& verb, const Json& args);
  /// The same for a session that is closed and so not held any more.
  Result<std::optional<Json>> answered_by_closed(const fs::path& folder,
                                                 const std::string& request_id,
                                                 const std::string& verb, const Json& args);
};

inline constexpr std::string_view k_was_in_flight = "in flight when the session stopped";

}  // namespace wb::engine
