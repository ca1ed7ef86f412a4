// SPDX-License-Identifier: MIT
// Jobs. A job is the process that holds a session's lock; whoever can read the
// folder can look at it and, as its user, ask it to stop. Nothing about a job lives anywhere else.
#pragma once

#include "engine/call.hpp"

namespace wb::verbs {

/// Waits until the job ends, its iteration closes (argument `job`), the call with `request_id` has
/// its answer, or `wait_s` passed. Errors: those of Session::open_reader; not_found (no such
/// iteration or call); canceled.
Result<Json> look_at_job(engine::Context& context, const Json& args, const fs::path& folder);
/// Asks the process to stop and waits until it released the lock. Errors: those of
/// Session::open_reader; invalid (the holder is another user's, or no process of this machine).
Result<Json> cancel_job_of(const engine::Context& context, const fs::path& folder);

}  // namespace wb::verbs
