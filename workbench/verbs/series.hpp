// SPDX-License-Identifier: MIT
// A series: sessions that each continue from the incumbent of the previous one. A session's log
// holds the figures of all its predecessors, so that the report needs no other log.
#pragma once

#include <string>

#include "core/json.hpp"
#include "engine/services.hpp"

namespace wb::verbs {

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
