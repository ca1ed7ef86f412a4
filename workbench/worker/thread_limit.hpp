// SPDX-License-Identifier: MIT
// Whether the system lets an honest subject start its threads. Several limits (of a user, of
// control groups, of the machine) apply, so it is tested instead of computed.
#pragma once

#include <optional>
#include <string>

namespace wb::worker {

/// How many more threads can start in this process, at most `wanted`. They end before it returns.
int startable_threads(int wanted);

/// A sentence for a subject's failure; nothing when the threads of two plans on each allowed CPU,
/// and a few more, can be started now.
std::optional<std::string> refused_threads();

}  // namespace wb::worker
