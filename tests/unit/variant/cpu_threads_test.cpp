// SPDX-License-Identifier: MIT
// The thread pool of the CPU kernels, kernels/common/cpu/threads.hpp.
#include "cpu/threads.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <vector>

#include "core/process.hpp"

namespace {

bool runs_each_task_once(wb_cpu::ThreadPool& pool, int threads, std::int64_t tasks) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
  std::vector<std::atomic<bool>> is_taken(static_cast<std::size_t>(threads));
  std::atomic<bool> are_slots_fine = true;
  pool.run(threads, tasks, [&](std::int64_t task, int slot) {
    const bool in_range = slot >= 0 && slot < threads;
    if (!in_range || is_taken[static_cast<std::size_t>(slot)].exchange(true)) {
      are_slots_fine = false;
    }
    ++runs[static_cast<std::size_t>(task)];
    if (in_range) is_taken[static_cast<std::size_t>(slot)] = false;
  });
  for (const std::atomic<int>& count : runs) {
    if (count != 1) return false;
  }
  return are_slots_fine;
}

}  // namespace

TEST_CASE("a pool runs each task once, and no slot twice at a time", "[variant][kernels]") {
  wb_cpu::ThreadPool pool(4);
  REQUIRE(pool.complete());
  CHECK(pool.size() == 4);
  for (int i = 0; i < 200; ++i) {
    CHECK(runs_each_task_once(pool, 1 + i % 6, i % 23));
  }
}

TEST_CASE("a pool that the system refuses threads says so and still works", "[variant][kernels]") {
  if (wb::k_address_sanitizer) {
    WARN("the sanitizer needs the address space: skipped");
    return;
  }
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Room for a few stacks of the usual 8 MiB, whatever the process holds already.
    long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (40u << 20);
    const rlimit limit{bytes, bytes};
    const rlimit stack{8u << 20, 8u << 20};
    if (pages == 0 || ::setrlimit(RLIMIT_AS, &limit) != 0 ||
        ::setrlimit(RLIMIT_STACK, &stack) != 0) {
      ::_exit(3);
    }
    wb_cpu::ThreadPool pool(64);
    if (pool.complete() || pool.size() >= 64) ::_exit(1);
    ::_exit(runs_each_task_once(pool, 64, 500) ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
