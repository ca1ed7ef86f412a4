// SPDX-License-Identifier: MIT
// The kernels that one call of a Python subject launches on a GPU, as torch.profiler tells from
// inside its process: which of a library's implementations really ran. Evidence, never a timed
// figure. Who calls: the supervisor (`profile`).
#pragma once

#include "protocol/protocol.hpp"
#include "worker/subject_process.hpp"
#include "worker/turn.hpp"

namespace wb::worker {

/// One call on inputs of seed 1. The process is no good for judging or timing afterwards: CUPTI
/// stays attached to it and slows its launches. Not available: why stands in the result. Failures:
/// constraints (it refuses the problem), runtime, timeout, environment.
Outcome<protocol::ProfileResult> name_kernels(SubjectProcess& subject,
                                              const problem::Problem& problem,
                                              const TurnContext& context, const Wait& wait);

/// What the subject's process answered, of which nothing is believed to be well formed: names are
/// made printable and cut, what is no launch is left out.
protocol::ProfileResult read_kernel_names(const Json& answer);

}  // namespace wb::worker
