// SPDX-License-Identifier: MIT
// Sleeps for longer than any deadline.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}
