// SPDX-License-Identifier: MIT
// The confinement of a child: resource limits, no new privileges, fewer capabilities, and Landlock
// if the kernel has it; and its cumulative levels, of which the strongest on this machine is in
// hello, doctor and the session's log.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/seccomp.hpp"

namespace wb::worker {

/// Each level includes the previous ones. See docs/contracts/confinement.md.
enum class Isolation {
  rlimits,    ///< limits, no new privileges, fewer capabilities
  landlock,   ///< writes to its own folder only
  seccomp,    ///< and no system calls that reach other processes
  namespaces  ///< and other processes, objects and writable files do not exist
};
std::string_view to_string(Isolation level);
std::optional<Isolation> parse_isolation(std::string_view word);

/// The strongest available level, at most `wanted`. On a GPU at most seccomp: NVML reports other
/// processes by the machine's process ids, and the driver's services are reached by ids and names
/// too. Namespaces are tested by starting a process in them.
Isolation reachable_isolation(Isolation wanted, bool gpu);

/// "rlimits+no_new_privs+landlock7+seccomp+namespaces": the parts of that level on this machine.
std::string isolation_text(Isolation level);

struct Confinement {
  std::uint64_t address_space_bytes = 0;  ///< 0: no limit
  std::uint64_t file_size_bytes = 16u << 20;
  std::uint64_t open_files = 256;
  cpu_set_t cpus{};                       ///< its allowed CPUs
  std::string writable_folder;            ///< the only folder it may write to; empty: none
  bool untrusted = true;                  ///< false for the judge: limits only
  bool gpu = false;                       ///< may use NVIDIA's devices
  Isolation level = Isolation::seccomp;   ///< reduced to what this machine supports
  std::vector<std::string> hidden_files;  ///< invisible with namespaces
  SystemCallPolicy system_calls;
};

/// The Landlock version of this kernel; 0 without.
int landlock_version();

/// Called in a forked child before exec: async-signal-safe calls only, no allocation. Returns the
/// failed step, or nullptr. `landlock`: the kernel's version, 0 for none; `filter`: from
/// make_system_call_filter(), empty for none.
const char* confine_this_process(const Confinement& confinement, int landlock,
                                 std::vector<sock_filter>& filter);

/// What its level requires; made before a fork.
int landlock_of(const Confinement& confinement);
std::vector<sock_filter> filter_of(const Confinement& confinement);

/// Also called in a forked child before exec: makes the kernel end this process first when memory
/// runs out, rather than the supervisor or other processes.
void volunteer_for_oom_kill();

/// The address space of a subject: three quarters of the machine's memory; 0 (no limit) under the
/// address sanitizer, which needs its shadow memory.
std::uint64_t subject_address_space_bytes();

}  // namespace wb::worker
