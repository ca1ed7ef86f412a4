// SPDX-License-Identifier: MIT
// Parent and child relations of this machine's processes, and states of their threads, from /proc.
// Used by ChildRegistry (strays), Standstill, IdleWatch, and the supervisor (foreign processes on
// the GPU).
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

namespace wb::worker {

/// The pids of all processes whose parent is `parent`, zombies included.
std::vector<pid_t> children_of(pid_t parent);

struct ProcessLink {
  pid_t pid = 0, parent = 0;
};
/// The processes below `root`, zombies included. Uses the kernel's lists of children if available,
/// else scans all processes.
std::vector<ProcessLink> links_below(pid_t root);
/// The members of `links` that descend from one of `roots`, without the roots; in no particular
/// order.
std::vector<pid_t> descendants_in(std::span<const ProcessLink> links, std::span<const pid_t> roots);

struct ThreadState {
  pid_t thread = 0;
  char state = '?';  ///< the kernel's letter: R runs or waits for a CPU, S sleeps, T is stopped …
};
/// The threads of a process; empty when it has ended.
std::vector<ThreadState> threads_of(pid_t pid);

enum class OnCpu { yes, no, unknown };
/// Whether a stopped thread is still on its CPU. The kernel reports it as stopped some instructions
/// before it leaves the CPU, and other users of the CPU, such as a virtual machine's host, may come
/// in between. Waits for a thread that is just leaving. `unknown` when the kernel does not say or
/// this process may not ask.
OnCpu is_on_cpu(pid_t pid, pid_t thread);

/// True when `pid` is this process, a worker of another session, or a descendant of either; false
/// for a process that does not exist. Other workers are recognized by name: they wait for the
/// device lock while this one measures, so their processes on a device are idle.
bool belongs_to_worker(pid_t pid);

}  // namespace wb::worker
