// SPDX-License-Identifier: MIT
#include "worker/lock.hpp"

#include <fcntl.h>

#include <atomic>
#include <optional>
#include <thread>

#include "support/catch.hpp"
#include "support/until.hpp"

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

/// Waits until somebody has locked that byte.
bool has_lock(const fs::path& path, off_t place) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return wb::testing::until([&] {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = place;
    range.l_len = 1;
    return ::fcntl(file.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
  });
}

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
  auto held = std::make_optional(*workers.first.acquire(deadline_in(60s), {}));
  std::atomic<int> turns_of_first = 0;
  int turns_before = -1;
  std::thread waiting([&] {
    const auto mine = workers.second.acquire(deadline_in(600s), {});
    turns_before = mine.ok() ? turns_of_first.load() : -2;
  });
  // CPU 1 is the first that both want: who waits for it has its byte of the queue.
  REQUIRE(has_lock(workers.path, k_queue_begin + 1));
  held.reset();
  for (int turn = 0; turn < 20; ++turn) {
    const auto again = workers.first.acquire(deadline_in(600s), {});
    CHECK(again.ok());
    ++turns_of_first;
  }
  waiting.join();
  CHECK(turns_before == 0);
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
