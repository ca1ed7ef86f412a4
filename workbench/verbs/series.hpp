// SPDX-License-Identifier: MIT
// A series: sessions that each go on from the incumbent of the one before. A
// session's own log carries the figures of all its predecessors, so the report needs no other.
#pragma once

#include <string>

#include "engine/services.hpp"

namespace wb::verbs {

/// What a new session takes over.
struct Predecessor {
  variant::Variant variant;  ///< its incumbent
  variant::Configuration configuration;
  std::string label;
  Json opened;  ///< its session_opened
  /// Its predecessors' figures and its own, oldest first: {`session`, `log_head`, `task_sha256`,
  /// `start`, `incumbent`, `speedup` (confirmed, or null), `iterations`, `wins`, `wall_s` (or
  /// null), `cost` (a ledger)}.
  Json sessions;
};

/// `id` as in open_recorded(). Errors: those of it; invalid (not closed yet, or it has no
/// incumbent); damaged (the stored sources were changed).
Result<Predecessor> read_predecessor(const engine::Services& services, const std::string& id);

/// Equal for sessions whose speedups may be multiplied: the same problems, weights and objective.
std::string task_hash(const Json& opened);

/// `args` of open, completed by what the predecessor was opened with: suite, objective, rivals,
/// rates and effort, each where nothing of its kind is given.
Json with_defaults_of(const Predecessor& before, Json args);

}  // namespace wb::verbs
