// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "core/hash.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"
#include "worker/lock.hpp"
#include "worker/store.hpp"

using namespace wb;
using namespace wb::worker;
using protocol::PutArgs;

namespace {

Store make_store() {
  auto store = Store::create();
  REQUIRE(store.ok());
  return *std::move(store);
}

PutArgs chunk(const std::string& whole, std::size_t offset, std::size_t size) {
  return {sha256_hex(whole), static_cast<std::int64_t>(offset),
          static_cast<std::int64_t>(whole.size()),
          protocol::base64_encode(whole.substr(offset, size))};
}

}  // namespace

TEST_CASE("a file arrives in chunks and is kept by its hash", "[worker][store]") {
  Store store = make_store();
  const std::string whole = "an artifact";
  CHECK_FALSE(store.has(sha256_hex(whole)));
  auto answer = store.put(chunk(whole, 0, 4));
  REQUIRE(answer.ok());
  CHECK(answer->received_bytes == 4);
  CHECK_FALSE(answer->complete);
  CHECK_FALSE(store.has(sha256_hex(whole)));
  answer = store.put(chunk(whole, 4, 100));
  REQUIRE(answer.ok());
  CHECK(answer->complete);
  CHECK(store.has(sha256_hex(whole)));
  CHECK(*store.verified_bytes(sha256_hex(whole)) == whole);
  CHECK(store.put(chunk("", 0, 0))->complete);
}

TEST_CASE("the store goes with its folder", "[worker][store]") {
  fs::path folder;
  {
    Store store = make_store();
    folder = store.folder();
    REQUIRE(store.add("x").ok());
    CHECK(fs::exists(folder));
  }
  CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("chunks out of order, too many or lying are refused", "[worker][store][hostile]") {
  Store store = make_store();
  const std::string whole = "an artifact";
  CHECK(store.put(chunk(whole, 4, 4)).error().code == ErrorCode::invalid);
  REQUIRE(store.put(chunk(whole, 0, 4)).ok());
  CHECK(store.put(chunk(whole, 3, 4)).error().code == ErrorCode::invalid);
  PutArgs other_total = chunk(whole, 4, 4);
  other_total.total_bytes = 5;
  CHECK(store.put(other_total).error().code == ErrorCode::invalid);
  PutArgs too_much = chunk(whole, 0, 4);
  too_much.total_bytes = 2;
  CHECK_FALSE(store.put(too_much).ok());
  PutArgs lying = chunk(whole, 0, 100);
  lying.sha256 = std::string(64, '0');
  CHECK(store.put(lying).error().code == ErrorCode::damaged);
  CHECK_FALSE(store.has(lying.sha256));
  PutArgs huge = chunk(whole, 0, 4);
  huge.total_bytes = std::int64_t{1} << 40;
  CHECK(store.put(huge).error().code == ErrorCode::limit);
  PutArgs no_base64 = chunk(whole, 0, 4);
  no_base64.data_base64 = "%%%%";
  CHECK(store.put(no_base64).error().code == ErrorCode::parse);
  for (int i = 0; i < 3; ++i) REQUIRE(store.put(chunk("file " + std::to_string(i), 0, 1)).ok());
  CHECK(store.put(chunk("one too many", 0, 1)).error().code == ErrorCode::limit);
}

TEST_CASE("a file that changed since is not used", "[worker][store][hostile]") {
  Store store = make_store();
  const std::string sha256 = *store.add("original");
  REQUIRE(store.verified_path(sha256).ok());
  std::ofstream(store.folder() / sha256) << "tampered";
  CHECK(store.verified_path(sha256).error().code == ErrorCode::damaged);
  CHECK(store.verified_path(std::string(64, '1')).error().code == ErrorCode::not_found);
}

TEST_CASE("staged files stay inside their folder", "[worker][store][hostile]") {
  Store store = make_store();
  const std::string sha256 = *store.add("text");
  const fs::path folder = store.folder() / "staged";
  REQUIRE(store.materialize({{"a/b.py", sha256}}, folder).ok());
  CHECK(fs::exists(folder / "a" / "b.py"));
  CHECK_FALSE(store.materialize({{"../b.py", sha256}}, folder).ok());
  CHECK_FALSE(fs::exists(store.folder() / "b.py"));
}

using namespace std::chrono_literals;

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
