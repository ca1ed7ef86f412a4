// SPDX-License-Identifier: MIT
// Starts threads that never end until no more can be had.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  while (true) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
  }
}
