// SPDX-License-Identifier: MIT
// Work that may take minutes (a compiler, a profiler), in a forked process: the supervisor goes on
// watching the wire meanwhile, and ends it and all it started when the host goes away.
#pragma once

#include <functional>
#include <string>

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "worker/child.hpp"

namespace wb::worker {

/// What `work` gives in a process of its own; an exception there is a failure `environment`. The
/// answer is one message of at most 64 KiB. `who` names it in messages: "the compiler". Failures:
/// those of `work`; timeout; environment (no process can be started, canceled).
Outcome<Json> run_forked(Family& family, const std::function<Outcome<Json>()>& work,
                         const std::string& who, Deadline deadline, CancelSource cancel);

}  // namespace wb::worker
