// SPDX-License-Identifier: MIT
// First calls: how long subjects take on inputs that they never saw, beside inputs seen just
// before.
#pragma once

#include <vector>

#include "worker/turn.hpp"

namespace wb::worker {

/// One subject of conduct_first_calls().
struct FirstCaller {
  SubjectProcess& subject;
  TurnContext context;
};
/// Takes the first calls of all callers, in turns, and judges the last output of each. A caller's
/// own failure stands in the result. Failures: environment.
Outcome<protocol::FirstCallsResult> conduct_first_calls(const std::vector<FirstCaller>& callers,
                                                        const protocol::FirstCallsArgs& args,
                                                        const Wait& wait);

}  // namespace wb::worker
