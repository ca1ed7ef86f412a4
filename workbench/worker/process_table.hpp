// SPDX-License-Identifier: MIT
// Who descends from whom among the processes of this machine, and what their threads do, as /proc
// says. Who calls: Family, for strays, Standstill, IdleWatch, and the supervisor, to tell others on
// the GPU from workers.
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
/// The processes below `root`, zombies included. From the lists of children that the kernel keeps,
/// where it has them; else all processes of the machine are looked through.
std::vector<ProcessLink> links_below(pid_t root);
/// Those of `links` that descend from one of `roots`, without the roots; in no particular order.
std::vector<pid_t> descendants_in(std::span<const ProcessLink> links, std::span<const pid_t> roots);

struct ThreadState {
  pid_t thread = 0;
  char state = '?';  ///< the kernel's letter: R runs or waits for a CPU, S sleeps, T is stopped …
};
/// Of each thread of a process; none when it is gone.
std::vector<ThreadState> threads_of(pid_t pid);

enum class OnCpu { yes, no, unknown };
/// Whether a thread that is stopped has left its CPU: the kernel calls it stopped some instructions
/// before that, and whoever else wants the CPU, a virtual machine's host among them, may come
/// between. Waits for a thread that leaves just now. `unknown` where the kernel does not say or
/// this process may not ask.
OnCpu is_on_cpu(pid_t pid, pid_t thread);

/// Whether `pid` is this process, a worker of another session, or descends from either; false for
/// what is not there. Another worker is known by its name: it waits for the device lock while this
/// one measures, so that what its processes have on a device lies still.
bool is_of_a_worker(pid_t pid);

}  // namespace wb::worker
