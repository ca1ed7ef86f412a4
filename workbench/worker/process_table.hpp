// SPDX-License-Identifier: MIT
// Who descends from whom among the processes of this machine, as /proc says. Who calls: Family, for
// strays, and the supervisor, to tell others on the GPU from workers.
#pragma once

#include <sys/types.h>

#include <vector>

namespace wb::worker {

/// The pids of all processes whose parent is `parent`, zombies included.
std::vector<pid_t> children_of(pid_t parent);

/// Whether `pid` is this process, a worker of another session, or descends from either; false for
/// what is not there. Another worker is known by its name: it waits for the device lock while this
/// one measures, so that what its processes have on a device lies still.
bool is_of_a_worker(pid_t pid);

}  // namespace wb::worker
