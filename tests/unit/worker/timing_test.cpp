// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "support/catch.hpp"
#include "worker/buffers.hpp"
#include "worker/caches.hpp"
#include "worker/cpu_timing.hpp"

using namespace wb;
using namespace wb::worker;

namespace {

/// Busy for about this long, so that sleeping and waking do not blur the figures.
int busy_us(double us) {
  const auto begin = std::chrono::steady_clock::now();
  while (us_since(begin) < us) {
  }
  return 0;
}

}  // namespace

TEST_CASE("samples are contiguous: their sum is the block", "[worker][timing]") {
  int status = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto sample_ns = take_samples([] { return busy_us(20); }, 50, 2, status);
  const double block_us = us_since(begin);
  REQUIRE(sample_ns.size() == 50);
  CHECK(status == 0);
  const double sum_us = std::accumulate(sample_ns.begin(), sample_ns.end(), 0.0) * 1e-3;
  CHECK(sum_us <= block_us);
  CHECK(sum_us >= 50 * 2 * 20);
}

TEST_CASE("settling lasts as long as asked and stops at a failing call", "[worker][timing]") {
  int status = 0;
  const auto begin = std::chrono::steady_clock::now();
  const Settled settled = settle(
      [&](double us) { return time_calls_for([] { return busy_us(50); }, us, status); }, 2'000);
  CHECK(us_since(begin) >= 2'000);
  CHECK(settled.call_us >= 50);
  int calls = 0;
  settle(
      [&](double us) {
        return time_calls_for([&calls] { return ++calls == 3 ? 2 : 0; }, us, status);
      },
      1e9);
  CHECK(status == 2);
  CHECK(calls == 3);
}

TEST_CASE("calls that never agree are given up as not settled", "[worker][timing]") {
  int status = 0;
  double us = 100;
  const auto begin = std::chrono::steady_clock::now();
  const Settled settled = settle(
      [&](double block_us) {
        return time_calls_for([&us] { return busy_us(us *= 1.5); }, block_us, status);
      },
      400);
  CHECK_FALSE(settled.settled);
  CHECK(us_since(begin) >= 4'000);
}

TEST_CASE("long settling has short blocks and gives up soon after its time", "[worker][timing]") {
  double longest_us = 0, spent_us = 0;
  const auto begin = std::chrono::steady_clock::now();
  double us = 100;
  const Settled settled = settle(
      [&](double block_us) -> std::optional<double> {
        longest_us = std::max(longest_us, block_us);
        std::this_thread::sleep_for(std::chrono::microseconds(30'000));
        return us *= 1.5;
      },
      600'000);
  spent_us = us_since(begin);
  CHECK_FALSE(settled.settled);
  CHECK(longest_us == 100'000);
  CHECK(spent_us >= 1'100'000);  // half a second more than wanted, not ten times as long
  CHECK(spent_us < 4'000'000);
}

TEST_CASE("tensors lie aligned between guard pages and differ by placement", "[worker][buffers]") {
  const GuardedMemory flush(1'000, Placing::flush_end);
  const auto address = reinterpret_cast<std::uintptr_t>(flush.bytes().data());
  CHECK(address % 256 == 0);
  CHECK(flush.bytes().size() == 1'000);
  // Fewer than 256 bytes stay between the tensor and the page that faults.
  CHECK((4'096 - (address + 1'000) % 4'096) % 4'096 < 256);
  bool differ = false;
  for (int i = 0; i < 20 && !differ; ++i) {
    const GuardedMemory a(1'000, Placing::scattered), b(1'000, Placing::scattered);
    const auto offset = [](const GuardedMemory& memory) {
      return reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % 4'096;
    };
    CHECK(offset(a) % 256 == 0);
    differ = offset(a) != offset(b);
  }
  CHECK(differ);
  CHECK(GuardedMemory(0, Placing::scattered).bytes().empty());
}

TEST_CASE("flushed memory is slower to read than cached memory", "[worker][buffers]") {
  if (!can_flush()) return;
  const GuardedMemory memory(1u << 20, Placing::scattered);
  for (std::byte& byte : memory.bytes()) byte = std::byte{1};
  const auto read_us = [&memory] {
    const auto begin = std::chrono::steady_clock::now();
    // One call, so that a sanitizer checks the range once and not every byte.
    const void* zero = std::memchr(memory.bytes().data(), 0, memory.bytes().size());
    const double us = us_since(begin);
    CHECK(zero == nullptr);
    return us;
  };
  double best_hot_us = 1e9, best_cold_us = 1e9;
  for (int i = 0; i < 20; ++i) {
    read_us();
    best_hot_us = std::min(best_hot_us, read_us());
    flush_from_caches(memory.bytes());
    best_cold_us = std::min(best_cold_us, read_us());
  }
  CHECK(best_cold_us > 1.2 * best_hot_us);
}
