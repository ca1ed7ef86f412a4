// SPDX-License-Identifier: MIT
// The time that the worker's rules about durations go by: the steady clock, or what a test says.
#pragma once

#include <chrono>
#include <functional>

namespace wb::worker {

using Now = std::function<std::chrono::steady_clock::time_point()>;

}  // namespace wb::worker
