// SPDX-License-Identifier: MIT
// How a session begins and ends, shared by `open`, `close` and `dispatch adopt`, and what it takes
// over from its predecessor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/json_fwd.hpp"
#include "engine/settings.hpp"
#include "variant/variant.hpp"

namespace wb::engine {
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// The subject matter of a session.
struct Opening {
  std::string start;  ///< a kernel's name, or the label of a stored variant
  problem::Suite suite;
  engine::Objective objective;
  std::string backend;
  std::vector<std::string> rivals;
};

/// Text as the log keeps it: bytes that are not UTF-8 become U+FFFD.
std::string as_logged(const std::string& text);

/// The payload of session_opened, without what a session continues from. `args`: budget, rates,
/// effort, title and named rivals as of `open`, each optional.
Json identity_of(const engine::Context& context, const Json& args, const fs::path& folder,
                 const Opening& opening);

/// Adds `goals` to session_opened, from the argument `goal`, and `goal_problems`, those of other
/// suites that goals name. Errors: usage (it cannot be read, is about no problem of the suite, or
/// over whom the session has not); those of select_problems().
Result<void> add_goals(const engine::Services& services, const std::string& text, Json& identity);

/// Makes the session in `folder`, held by the context, and measures its baseline. `stored`, the
/// variant that it starts from, is stored in it; may be null. `on_opened` runs before the baseline.
/// Returns the baseline's rows. Errors: those of the environment, of the log and of the baseline;
/// the session is held even then if its folder was made.
Result<Json> begin_session(engine::Context& context, const Json& identity, const fs::path& folder,
                           const variant::Variant* stored,
                           const std::function<Result<void>()>& on_opened = {});

/// Records causes, roadmap and report and makes the last commit. `args`: those of `close`. The
/// context still holds the session afterwards. Errors: those of the catalogues, of the log and of
/// the commit.
Result<Json> close_session(engine::Context& context, const Json& args);

/// What a new session takes over.
struct Predecessor {
  variant::Variant variant;  ///< its incumbent
  variant::Configuration configuration;
  std::string label;
  Json opened;  ///< its session_opened
  /// Figures of its predecessors and its own, oldest first: {`session`, `log_head`, `task_sha256`,
  /// `start`, `incumbent`, `speedup` (confirmed, or null), `iterations`, `wins`, `wall_s` (or
  /// null), `cost` (a ledger)}.
  Json sessions;
};

/// `id` as in open_recorded(). Errors: those of it; invalid (not closed, or without an incumbent);
/// damaged (the stored sources were changed).
Result<Predecessor> read_predecessor(const engine::Services& services, const std::string& id);

/// Equal for sessions whose speedups may be multiplied: same problems, weights and objective.
std::string task_hash(const Json& opened);

/// `args` of open, completed from the predecessor: suite, objective, rivals, rates and effort, each
/// when absent.
Json with_defaults_of(const Predecessor& before, Json args);

}  // namespace wb::verbs
