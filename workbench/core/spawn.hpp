// SPDX-License-Identifier: MIT
// Inside core only: how run_process and ChildProcess start, watch and reap one child. The child
// leads its own process group, so that one signal reaches all that it started.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "core/streams.hpp"

namespace wb::detail {

struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;  ///< readable once the child ended; invalid on a kernel without pidfd_open
};

/// Forks and execs with the three descriptors as stdio. Returns after the exec, so that its failure
/// is an Error: not_found, usage (no argv), invalid (NUL, closed keep_fd), io, environment (SIGCHLD
/// is ignored).
Result<Child> spawn_child(const ProcessSpec& spec, int in, int out, int err);

/// True once the child ended (it stays a zombie, so its pid and group id cannot be reused).
bool has_ended(const Child& child);
bool wait_until_ended(const Child& child, Deadline deadline);

/// SIGKILL to the group, wait (at most k_reap_patience), reap. If the child does not end (stuck in
/// a driver), neither exit_code nor signal is set.
ProcessOutcome kill_and_reap(const Child& child);
constexpr std::chrono::seconds k_reap_patience{5};

}  // namespace wb::detail
