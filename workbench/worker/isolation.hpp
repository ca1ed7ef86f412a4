// SPDX-License-Identifier: MIT
// How strongly subjects are confined: cumulative levels, the strongest one on this machine, and its
// text in hello, doctor and the session's log.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace wb::worker
