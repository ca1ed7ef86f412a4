// SPDX-License-Identifier: MIT
// Sleeps in its first calls, so that few samples seem enough; then works.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static int calls = 0;
  if (++calls < 40) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return hostile::honest(plan, args);
}
