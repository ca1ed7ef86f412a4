// SPDX-License-Identifier: MIT
// Subjects in namespaces of their own: process ids, System V and POSIX objects, mounts, and, but
// under root, users. A first process of each set of namespaces holds it together: with it
// everything inside ends. Used by child.cpp.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::worker {

/// Made before a fork: after it nothing may allocate.
struct NamespaceSpec {
  std::string writable_folder;            ///< all else is mounted for reading only; empty: none
  std::vector<std::string> hidden_files;  ///< /dev/null stands in their place
};

struct Namespaced {
  pid_t init = -1;    ///< a child of this process from then on; what is inside ends with it
  pid_t leader = -1;  ///< a child of this process too, as if it had been forked here
  UniqueFd life;      ///< when it is closed, the init ends
};

/// Forks a process that runs `body` in new namespaces, its mounts not arranged yet. This process
/// must be the one that orphans fall to (Family). Errors: environment (the step that failed).
Result<Namespaced> fork_in_namespaces(const std::function<void()>& body);

/// In that process, before it gives anything up. Only async-signal-safe calls. Returns the step
/// that failed, or nullptr.
const char* arrange_mounts(const NamespaceSpec& spec);

/// Why no process can be started so; nothing where one can. Tried each time.
std::optional<std::string> namespaces_missing();

}  // namespace wb::worker
