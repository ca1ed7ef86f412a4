// SPDX-License-Identifier: MIT
// The clock of the worker's rules about durations: the steady clock, or a test's.
#pragma once

#include <chrono>
#include <functional>

namespace wb::worker {

using Now = std::function<std::chrono::steady_clock::time_point()>;

}  // namespace wb::worker
