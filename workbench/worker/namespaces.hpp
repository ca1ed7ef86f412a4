// SPDX-License-Identifier: MIT
// Subjects in their own namespaces: process ids, System V and POSIX objects, mounts, and (unless
// root) users. An init process holds each set of namespaces: when it ends, all processes inside
// end. Used by child.cpp.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::worker {

/// Made before a fork, since nothing may allocate after it.
struct NamespaceSpec {
  std::string writable_folder;            ///< everything else is mounted read-only; empty: none
  std::vector<std::string> hidden_files;  ///< replaced by /dev/null
};

struct Namespaced {
  pid_t init = -1;    ///< a child of this process; processes inside end with it
  pid_t leader = -1;  ///< also a child of this process, as if forked directly
  UniqueFd life;      ///< the init ends when it is closed
};

/// Forks a process that runs `body` in new namespaces, before its mounts are arranged. This process
/// must be a subreaper (ChildRegistry). Errors: environment (the failed step).
Result<Namespaced> fork_in_namespaces(const std::function<void()>& body);

/// Called in that process before it gives up privileges. Async-signal-safe calls only. Returns the
/// failed step, or nullptr.
const char* arrange_mounts(const NamespaceSpec& spec);

/// Why no process can be started in namespaces, or nothing. Tested on each call.
std::optional<std::string> namespaces_missing();

}  // namespace wb::worker
