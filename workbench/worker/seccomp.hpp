// SPDX-License-Identifier: MIT
// A system call filter for subjects: what no attention kernel needs and an attacker would, such as
// sockets, other processes' memory, limits and scheduling, rights of files, locks, mounts and keys,
// fails with EPERM. Used by confine.cpp only.
#pragma once

#include <string>
#include <vector>

struct sock_filter;

namespace wb::worker {

/// What a kind of subject may do beyond computing.
struct SystemCallPolicy {
  bool processes = false;     ///< fork and the like: just-in-time compilers of Python subjects
  bool unix_sockets = false;  ///< AF_UNIX, by name too: the CUDA driver. No other family ever
  /// A pid namespace: the ids that a call can name are the subject's own.
  bool own_ids = false;
  /// chmod, utime and the like: Python subjects where nothing outside their folder can be changed.
  bool change_files = false;
  /// What a call for a file lock or for another thread's scheduling answers.
  enum class Answer {
    refused,  ///< EPERM
    absent,   ///< locks: ENOSYS, after which libraries make do without
    ignored   ///< success, and nothing was done: the CUDA driver is not to be surprised
  };
  Answer locks = Answer::refused;
  Answer others_scheduling = Answer::refused;
};

/// Beside the CUDA driver, which looks for a multi-process server, listens for peers in its own
/// name and keeps a cache of what it compiled. What is not known to be safe to refuse is left
/// undone.
inline constexpr SystemCallPolicy k_gpu_system_calls{
    .unix_sockets = true,
    .locks = SystemCallPolicy::Answer::ignored,
    .others_scheduling = SystemCallPolicy::Answer::ignored};

/// Whether this kernel has filters, and this build knows its system calls (not under the address
/// sanitizer, which traces itself).
bool has_seccomp();

/// The filter, made before a fork; empty without seccomp.
std::vector<sock_filter> make_system_call_filter(const SystemCallPolicy& policy);

/// In a forked child after PR_SET_NO_NEW_PRIVS; no allocation. Writes the ids of this process and
/// its parent into the filter first: they stay over an exec. False when the kernel refused it.
bool apply_system_call_filter(std::vector<sock_filter>& filter);

}  // namespace wb::worker
