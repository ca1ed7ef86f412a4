// SPDX-License-Identifier: MIT
// The baseline: start and rivals of a session, judged and timed.
#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {

struct Context;

/// Runs iteration 0 (or its repeat after an abandoned one): noise floors, start, rivals. Fills the
/// context's incumbent, rivals and floors.
Result<Json> run_baseline(Context& context, std::int64_t number);

}  // namespace wb::engine
