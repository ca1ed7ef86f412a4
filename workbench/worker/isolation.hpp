// SPDX-License-Identifier: MIT
// How strongly subjects are confined: levels that build on each other, which of them this machine
// has, and how the level reached is told (hello, doctor, the session's log).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wb::worker {

/// Each holds what stands before it. docs/contracts/worker_protocol.md, "What confines a subject".
enum class Isolation {
  rlimits,    ///< limits, no new privileges, fewer capabilities
  landlock,   ///< writes to its own folder only
  seccomp,    ///< and no system calls that reach somebody else
  namespaces  ///< and nobody else's processes, objects or writable files are there at all
};
std::string_view to_string(Isolation level);
std::optional<Isolation> parse_isolation(std::string_view word);

/// The strongest level that can be had here, at most `wanted`. On a GPU that is seccomp: who else
/// is on the device is told by NVML in process ids of the machine, and the driver's own services
/// are reached by ids and names too. Namespaces are tried by starting a process in them.
Isolation reachable_isolation(Isolation wanted, bool gpu);

/// "rlimits+no_new_privs+landlock7+seccomp+namespaces": what that level is made of here.
std::string isolation_text(Isolation level);

}  // namespace wb::worker
