// SPDX-License-Identifier: MIT
#include "core/startable.hpp"

#include <pthread.h>

#include <cstddef>
#include <latch>
#include <vector>

namespace wb {
namespace {

constexpr std::size_t k_small_stack_bytes = 256u << 10;

void* wait_for_latch(void* end) {
  static_cast<std::latch*>(end)->wait();
  return nullptr;
}

}  // namespace

int startable_threads(int wanted) {
  std::latch end(1);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, k_small_stack_bytes);
  std::vector<pthread_t> threads;
  pthread_t thread{};
  while (static_cast<int>(threads.size()) < wanted &&
         ::pthread_create(&thread, &small, wait_for_latch, &end) == 0) {
    threads.push_back(thread);
  }
  ::pthread_attr_destroy(&small);
  end.count_down();
  for (const pthread_t started : threads) ::pthread_join(started, nullptr);
  return static_cast<int>(threads.size());
}

}  // namespace wb
