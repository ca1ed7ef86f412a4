// SPDX-License-Identifier: MIT
// parallel_for: runs independent pieces of work on a few threads, for input filling and judging.
// Each piece writes its own output, so results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace wb::problem {

/// Calls body(i) once for every i in [0, count) on up to `threads` threads, the caller's included.
/// The first exception of a body is rethrown after all threads have ended.
template <typename Body>
void parallel_for(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::scoped_lock lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  const std::size_t helpers = std::min(count, static_cast<std::size_t>(std::max(threads, 1)));
  {
    std::vector<std::jthread> pool;
    try {
      for (std::size_t i = 1; i < helpers; ++i) pool.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads to be had (a process limit): the running ones do all the work.
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace wb::problem
