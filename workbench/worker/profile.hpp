// SPDX-License-Identifier: MIT
// The supervisor's `profile` of a Python subject: the kernels that one call launches on a GPU, by
// torch.profiler inside its process. They show which of a library's implementations ran. Evidence,
// never a timed figure.
#pragma once

#include "core/json_fwd.hpp"
#include "protocol/protocol.hpp"
#include "worker/subject_process.hpp"
#include "worker/turn.hpp"

namespace wb::worker {

/// One call on inputs of seed 1. The process must not be judged or timed afterwards, since CUPTI
/// stays attached and slows its launches. When the profiler is not available, the result says why.
/// Failures: constraints (the subject refuses the problem), runtime, timeout, environment.
Outcome<protocol::ProfileResult> name_kernels(SubjectProcess& subject,
                                              const problem::Problem& problem,
                                              const TurnContext& context, const Wait& wait);

/// Reads the untrusted answer of the subject's process: names are made printable and cut, and
/// entries that are no launches are left out.
protocol::ProfileResult read_kernel_names(const Json& answer);

}  // namespace wb::worker
