// SPDX-License-Identifier: MIT
// Runs work that may take minutes (a compiler, a profiler) in a forked process: the supervisor
// continues to watch the wire, and kills the process and its children when the host disconnects.
#pragma once

#include <functional>
#include <string>

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "worker/child.hpp"

namespace wb::worker {

/// The result of `work`, run in its own process; an exception in it is an `environment` failure.
/// The answer is one message of at most 64 KiB. `who` names it in messages: "the compiler".
/// Failures: those of `work`; timeout; environment (no process can be started, canceled).
Outcome<Json> run_forked(ChildRegistry& registry, const std::function<Outcome<Json>()>& work,
                         const std::string& who, Deadline deadline, CancelSource cancel);

}  // namespace wb::worker
