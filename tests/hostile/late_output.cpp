// SPDX-License-Identifier: MIT
// Returns at once and does the work later, on a thread of its own.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::thread([own_plan = plan, args]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    hostile::honest(own_plan, args);
  }).detach();
  return WB_OK;
}
