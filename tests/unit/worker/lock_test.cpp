// SPDX-License-Identifier: MIT
#include "worker/lock.hpp"

#include <thread>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::worker;

namespace {

/// Two workers of one machine; open-file locks count per descriptor, so one process can play both.
struct TwoWorkers {
  TempDirectory folder = *TempDirectory::create("wb-lock-test-");
  fs::path path = folder.path() / "lock";
  DeviceLock first = *DeviceLock::open(path, {0, 1});
  DeviceLock second = *DeviceLock::open(path, {1, 2});
};

}  // namespace

TEST_CASE("overlapping CPU sets exclude each other, others do not", "[worker][lock]") {
  TwoWorkers workers;
  const auto other = DeviceLock::open(workers.path, {3});
  {
    const auto held = workers.first.acquire(deadline_in(1s), {});
    REQUIRE(held.ok());
    const auto refused = workers.second.acquire(deadline_in(20ms), {});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::locked);
    CHECK(refused.error().message().find("CPU 1") != std::string::npos);
    CHECK(other->acquire(deadline_in(20ms), {}).ok());
  }
  CHECK(workers.second.acquire(deadline_in(1s), {}).ok());
  CHECK(workers.first.acquire(deadline_in(1s), {}).ok());
}

TEST_CASE("who waits is served before the holder comes again", "[worker][lock]") {
  TwoWorkers workers;
  std::atomic<int> turns_of_first = 0;
  std::atomic<bool> waiting = false, served = false;
  int turns_while_waiting = 0;
  std::thread greedy([&] {
    while (!served) {
      const auto held = workers.first.acquire(deadline_in(5s), {});
      ++turns_of_first;
      std::this_thread::sleep_for(2ms);
    }
  });
  while (turns_of_first == 0) std::this_thread::sleep_for(1ms);
  const int before = turns_of_first;
  waiting = true;
  {
    const auto held = workers.second.acquire(deadline_in(5s), {});
    REQUIRE(held.ok());
    turns_while_waiting = turns_of_first - before;
    served = true;
  }
  greedy.join();
  CHECK(turns_while_waiting <= 3);
}

TEST_CASE("a GPU has a place of its own, the same for every process", "[worker][lock]") {
  const int place = gpu_place("GPU-01234567-89ab-cdef-0123-456789abcdef");
  CHECK(place == gpu_place("GPU-01234567-89ab-cdef-0123-456789abcdef"));
  CHECK(place != gpu_place("GPU-01234567-89ab-cdef-0123-456789abcdee"));
  CHECK(place >= 4'096);  // behind every CPU
  TempDirectory folder = *TempDirectory::create("wb-lock-test-");
  const DeviceLock gpu = *DeviceLock::open(folder.path() / "lock", {place});
  const DeviceLock other = *DeviceLock::open(folder.path() / "lock", {place});
  const DeviceLock cpus = *DeviceLock::open(folder.path() / "lock", {0, 1});
  const auto held = gpu.acquire(deadline_in(1s), {});
  REQUIRE(held.ok());
  CHECK(cpus.acquire(deadline_in(1s), {}).ok());
  const auto refused = other.acquire(deadline_in(20ms), {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("kept the GPU busy") != std::string::npos);
}
