// SPDX-License-Identifier: MIT
// What keeps a child in its place: resource limits, no new privileges, fewer capabilities, and
// Landlock where the kernel has it. The level reached stands in hello and in the session's log.
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
  cpu_set_t cpus{};                       ///< where its threads may run
  std::string writable_folder;            ///< the one place it may write to; empty: none
  bool untrusted = true;                  ///< false for the judge: limits only
  bool gpu = false;                       ///< may use NVIDIA's devices
  Isolation level = Isolation::seccomp;   ///< as far as this machine goes
  std::vector<std::string> hidden_files;  ///< with namespaces: not there
  SystemCallPolicy system_calls;
};

/// The Landlock version of this kernel, 0 without.
int landlock_version();

/// In a forked child before exec: only async-signal-safe calls, no allocation. Returns the step
/// that failed, or nullptr. `landlock`: the kernel's version, 0 for none; `filter`: from
/// make_system_call_filter(), empty for none.
const char* confine_this_process(const Confinement& confinement, int landlock,
                                 std::vector<sock_filter>& filter);

/// What its level asks for, made before a fork.
int landlock_of(const Confinement& confinement);
std::vector<sock_filter> filter_of(const Confinement& confinement);

/// In a forked child before exec, likewise: should memory run out, the kernel ends this process
/// first and not the supervisor, or anybody else on the machine.
void volunteer_for_oom_kill();

/// What a subject may address: three quarters of the machine's memory; 0 (no limit) where the
/// address sanitizer needs its shadow.
std::uint64_t subject_address_space_bytes();

}  // namespace wb::worker
