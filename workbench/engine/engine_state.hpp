// SPDX-License-Identifier: MIT
// Private to engine: what an engine keeps between calls. engine.cpp records, repeats and replays
// calls; answering.cpp finds the body that answers one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/replay.hpp"

namespace wb::engine {

struct Engine::State {
  explicit State(Services services) : context(std::move(services)) {}
  Context context;
  std::map<std::string, Body, std::less<>> bodies;
  std::int64_t next_call = 1;  ///< n of the next recorded call
  Replay replay;
  bool in_playbook = false;  ///< the call that runs comes from the playbook

  /// `restore`: an iteration that was in flight is abandoned. What fails holds nothing.
  Result<void> hold_session(const fs::path& folder, bool restore);
  Result<void> take_session(const fs::path& folder, bool restore);  ///< its part that may fail
  /// Releases the session; what comes next sees nothing of it or of its calls.
  void let_go();
  /// Incumbent and rivals of a held session, built again for what is going to be measured.
  Result<void> need_subjects();
  Result<Json> run_body(Engine& engine, const VerbSpec& verb, const Json& args,
                        const fs::path& folder);
  Result<Json> run_reading(const VerbSpec& verb, const Json& args, const fs::path& folder);
  Result<Json> run_recorded(Engine& engine, const VerbSpec& verb, const Json& args,
                            const fs::path& folder, const std::optional<std::string>& request_id);
  Result<Json> close_session(const Json& args);
  /// The answer of `close`, by the commit that it made.
  [[nodiscard]] Json closed_answer(const std::string& commit) const;
  /// What a repeated call was answered first, in the session that is held.
  Result<std::optional<Json>> answered_before(const std::string& request_id,
                                              const std::string& verb, const Json& args);
  /// The same of a session that may not be held any more, since it is closed.
  Result<std::optional<Json>> answered_by_closed(const fs::path& folder,
                                                 const std::string& request_id,
                                                 const std::string& verb, const Json& args);
};

}  // namespace wb::engine
