// SPDX-License-Identifier: MIT
// A thread that never sleeps fetches into the caches what was flushed from them before a cold call.
#include <atomic>
#include <thread>

#define HOSTILE_OWN_PLAN_CREATE
#include "hostile.hpp"

namespace {

std::atomic<const char*> g_begin{nullptr};
std::atomic<std::size_t> g_size{0};
std::atomic<std::uint64_t> g_sweeps{0};
std::atomic<bool> g_runs{false};

void start_once() {
  static const bool k_started = [] {
    std::thread([] {
      while (true) {
        const volatile char* begin = g_begin;
        const std::size_t size = begin != nullptr ? g_size.load() : 0;
        for (std::size_t at = 0; at < size; at += 64) (void)begin[at];
        ++g_sweeps;
      }
    }).detach();
    g_runs = true;
    return true;
  }();
  (void)k_started;
}

}  // namespace

/// Other tensors come, and the old ones go: the thread must not read them any more.
WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  g_begin = nullptr;
  for (const std::uint64_t sweeps = g_sweeps; g_runs && g_sweeps < sweeps + 2;) {
    std::this_thread::yield();
  }
  *plan = new wb_sdpa_plan{*problem, std::vector<float>(static_cast<std::size_t>(problem->seq_kv))};
  return WB_OK;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  if (args.lse == nullptr) {
    g_size = static_cast<std::size_t>(p.batch * p.heads_q * p.seq_q * p.dim) * 4;
    g_begin = static_cast<const char*>(args.q);
    start_once();
  }
  return hostile::honest(plan, args);
}
