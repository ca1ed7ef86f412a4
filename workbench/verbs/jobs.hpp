// SPDX-License-Identifier: MIT
// Jobs. A job is the process that holds a session's lock. Anyone who can read the folder can
// inspect it, and its user can ask it to stop. A job has no other state.
#pragma once

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {
struct Context;
}  // namespace wb::engine

namespace wb::verbs {

/// Waits until the job ends, its iteration closes (argument `job`), the call with `request_id` has
/// its answer, or `wait_s` has passed. Errors: those of Session::open_reader; not_found (no such
/// iteration or call); canceled.
Result<Json> wait_for_job(engine::Context& context, const Json& args, const fs::path& folder);
/// Asks the process to stop and waits until it releases the lock. Errors: those of
/// Session::open_reader; invalid (the holder is another user's, or no process of this machine).
Result<Json> cancel_job_of(const engine::Context& context, const fs::path& folder);

}  // namespace wb::verbs
