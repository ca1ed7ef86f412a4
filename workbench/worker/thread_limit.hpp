// SPDX-License-Identifier: MIT
// Whether the system lets an honest subject start its threads.
#pragma once

#include <optional>
#include <string>

namespace wb::worker {

/// Words for a failure of a subject: nothing where two plans' threads on each CPU that this process
/// may use, and a few more, can be started now.
std::optional<std::string> refused_threads();

}  // namespace wb::worker
