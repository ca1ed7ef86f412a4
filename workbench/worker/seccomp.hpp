// SPDX-License-Identifier: MIT
// A system call filter for subjects: what no attention kernel needs and an attacker would, such as
// sockets, other processes' memory, mounts and keys, fails with EPERM. Used by confine.cpp only.
#pragma once

#include <string>
#include <vector>

struct sock_filter;

namespace wb::worker {

/// What a kind of subject may do beyond computing.
struct SystemCallPolicy {
  bool processes = false;     ///< fork and the like: just-in-time compilers of Python subjects
  bool unix_sockets = false;  ///< AF_UNIX; no other family is ever allowed
};

/// Whether this kernel has filters, and this build knows its system calls (not under the address
/// sanitizer, which traces itself).
bool has_seccomp();

/// The filter, made before a fork; empty without seccomp.
std::vector<sock_filter> make_system_call_filter(const SystemCallPolicy& policy);

/// In a forked child after PR_SET_NO_NEW_PRIVS; no allocation. False when the kernel refused it.
bool apply_system_call_filter(const std::vector<sock_filter>& filter);

}  // namespace wb::worker
