// SPDX-License-Identifier: MIT
// One judged run of a subject, and which runs a verdict has, as the supervisor conducts them.
#pragma once

#include <vector>

#include "worker/turn.hpp"

namespace wb::worker {

/// One output, judged. On a CPU its calls are those of a turn, by the same messages: their number,
/// the place of its tensors and what comes before are drawn.
Outcome<protocol::RunResult> conduct_run(SubjectProcess& subject, const protocol::RunArgs& args,
                                         const TurnContext& context, const Wait& wait);

/// One run of a verdict.
struct VerdictRun {
  problem::Draw draw = problem::Draw::normal;
  bool want_lse = false;
};
/// Three normal draws, one of large magnitude and, with `has_edge`, one edge draw, in secret order.
/// With `want_lse` an LSE is asked for in about half of them: large and edge draws are run with and
/// without, normal ones at least once either way. Timed calls ask for none.
std::vector<VerdictRun> draw_verdict_runs(bool has_edge, bool want_lse);

}  // namespace wb::worker
