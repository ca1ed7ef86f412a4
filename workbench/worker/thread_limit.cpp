// SPDX-License-Identifier: MIT
#include "worker/thread_limit.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <latch>
#include <vector>

#include "core/process.hpp"

namespace wb::worker {
namespace {

/// A variant may hold two plans at once; interpreters and libraries have their own threads.
constexpr int k_plans = 2, k_other_threads = 8;
constexpr std::size_t k_stack_bytes = 256u << 10;

int allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

void* wait_for(void* end) {
  static_cast<std::latch*>(end)->wait();
  return nullptr;
}

}  // namespace

int startable_threads(int wanted) {
  std::latch end(1);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, k_stack_bytes);
  std::vector<pthread_t> threads;
  pthread_t thread{};
  while (static_cast<int>(threads.size()) < wanted &&
         ::pthread_create(&thread, &small, wait_for, &end) == 0) {
    threads.push_back(thread);
  }
  ::pthread_attr_destroy(&small);
  end.count_down();
  for (const pthread_t started : threads) ::pthread_join(started, nullptr);
  return static_cast<int>(threads.size());
}

std::optional<std::string> refused_threads() {
  const int cpus = allowed_cpus(), wanted = k_plans * cpus + k_other_threads;
  const int started = startable_threads(wanted);
  if (started == wanted) return std::nullopt;
  return fmt::format("the system lets this user start {} threads more, where {} CPUs need {}; {}",
                     started, cpus, wanted, k_more_processes);
}

}  // namespace wb::worker
