// SPDX-License-Identifier: MIT
// Whether the system lets an honest subject start its threads. Limits of several kinds (of a user,
// of control groups, of the machine) stand against that, so it is tried instead of computed.
#pragma once

#include <optional>
#include <string>

namespace wb::worker {

/// How many threads more start in this process, at most `wanted`. They end before it returns.
int startable_threads(int wanted);

/// Words for a failure of a subject: nothing where two plans' threads on each CPU that this process
/// may use, and a few more, can be started now.
std::optional<std::string> refused_threads();

}  // namespace wb::worker
