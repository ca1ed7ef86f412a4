// SPDX-License-Identifier: MIT
// Returns at once; a thread of the host starts the work 50 ms later.
#include "hostile.cuh"

static void work_later(wb_sdpa_problem problem, wb_sdpa_args args) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  static_cast<void>(hostile::honest_on(cudaStreamLegacy, problem, args));
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::thread(work_later, plan.problem, args).detach();
  return WB_OK;
}
