// SPDX-License-Identifier: MIT
// Where a session begins, or goes on from: its start and rivals, judged and timed.
#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {

struct Context;

/// Iteration 0 (or a repeat after an abandoned one): floors, start, rivals. Fills the context's
/// incumbent, rivals and floors.
Result<Json> run_baseline(Context& context, std::int64_t number);
/// Fills incumbent, rivals and floors from a log whose baseline closed.
Result<void> restore_context(Context& context);

}  // namespace wb::engine
