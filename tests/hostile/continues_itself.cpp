// SPDX-License-Identifier: MIT
// Returns at once, and has a timer of the kernel send SIGCONT every tenth of a millisecond, so that
// who is stopped goes on: a thread does the work then.
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include "hostile.hpp"

namespace {

std::atomic<int> g_due{0};
wb_sdpa_plan g_plan;
wb_sdpa_args g_args;

void start_once() {
  static const bool k_started = [] {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    timer_t timer{};
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    const itimerspec often{{0, 100'000}, {0, 100'000}};
    ::timer_settime(timer, 0, &often, nullptr);
    std::thread([] {
      while (true) {
        if (g_due.exchange(0) == 0) continue;
        std::this_thread::sleep_for(std::chrono::microseconds(300));  // let the clock stop first
        hostile::honest(g_plan, g_args);
      }
    }).detach();
    return true;
  }();
  (void)k_started;
}

}  // namespace

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  start_once();
  g_plan.problem = plan.problem;
  g_plan.scores.resize(plan.scores.size());
  g_args = args;
  g_due = 1;
  return WB_OK;
}
