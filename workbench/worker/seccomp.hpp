// SPDX-License-Identifier: MIT
// A system call filter for subjects. Calls that an attention kernel does not need and an attacker
// would use fail with EPERM: sockets, other processes' memory, limits and scheduling, file
// permissions, locks, mounts and keys. Used by confine.cpp only.
#pragma once

#include <string>
#include <vector>

struct sock_filter;

namespace wb::worker {

/// The system calls that a kind of subject may make beyond computing.
struct SystemCallPolicy {
  /// Fork and related calls: for just-in-time compilers of Python subjects.
  bool processes = false;
  bool unix_sockets = false;  ///< AF_UNIX, also by name, for the CUDA driver; never another family
  /// In a pid namespace: all ids that a call can name are the subject's own.
  bool own_ids = false;
  /// chmod, utime and related calls: for Python subjects that cannot change anything outside their
  /// folder.
  bool change_files = false;
  /// The result of a call for a file lock or for another thread's scheduling.
  enum class Answer {
    refused,  ///< EPERM
    absent,   ///< locks: ENOSYS, after which libraries work without locks
    ignored   ///< success without effect, which the CUDA driver needs
  };
  Answer locks = Answer::refused;
  Answer others_scheduling = Answer::refused;
};

/// For the CUDA driver, which looks for a multi-process server, listens for peers under its own
/// name and keeps a cache of compiled code. Calls that may not be safe to refuse succeed without
/// effect.
inline constexpr SystemCallPolicy k_gpu_system_calls{
    .unix_sockets = true,
    .locks = SystemCallPolicy::Answer::ignored,
    .others_scheduling = SystemCallPolicy::Answer::ignored};

/// True when this kernel has filters and this build knows its system calls (not under the address
/// sanitizer, which traces itself).
bool has_seccomp();

/// The filter, made before a fork; empty without seccomp.
std::vector<sock_filter> make_system_call_filter(const SystemCallPolicy& policy);

/// Called in a forked child after PR_SET_NO_NEW_PRIVS; does not allocate. First writes the ids of
/// this process and its parent, which survive an exec, into the filter. False when the kernel
/// refused it.
bool apply_system_call_filter(std::vector<sock_filter>& filter);

}  // namespace wb::worker
