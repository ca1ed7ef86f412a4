// SPDX-License-Identifier: MIT
// Whether the system lets an honest subject start its threads.
#pragma once

#include <optional>
#include <string>

namespace wb::worker {

/// A sentence for a subject's failure; nothing when the threads of two plans on each allowed CPU,
/// and a few more, can be started now.
std::optional<std::string> refused_threads();

}  // namespace wb::worker
