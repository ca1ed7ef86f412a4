// SPDX-License-Identifier: MIT
// The confinement of a child: resource limits, no new privileges, fewer capabilities, and Landlock
// if the kernel has it. The level reached is in hello and in the session's log.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/isolation.hpp"
#include "worker/seccomp.hpp"

namespace wb::worker {

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
