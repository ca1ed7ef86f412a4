// SPDX-License-Identifier: MIT
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "worker/buffers.hpp"
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

/// Blocks whose calls take so long by a clock that moves with them. -1: a call that fails. Behind
/// the list each takes `growth` times its predecessor.
struct Settling {
  explicit Settling(std::vector<double> calls_us) : m_calls_us(std::move(calls_us)) {}
  Settled settle(double settle_us) {
    return worker::settle(
        [this](double block_us) -> std::optional<double> {
          const auto at = static_cast<std::size_t>(blocks++);
          m_call_us = at < m_calls_us.size() ? m_calls_us[at] : m_call_us * growth;
          if (m_call_us < 0) return std::nullopt;
          longest_us = std::max(longest_us, block_us);
          const double spent_us = std::ceil(block_us / m_call_us) * m_call_us;
          m_clock.advance(std::chrono::nanoseconds(std::llround(spent_us * 1e3)));
          return m_call_us;
        },
        settle_us, [this] { return m_clock.steady_now(); });
  }
  [[nodiscard]] double spent_us() const { return us_between(m_begin, m_clock.steady_now()); }

  int blocks = 0;
  double growth = 1, longest_us = 0;

 private:
  std::vector<double> m_calls_us;
  double m_call_us = 0;
  wb::testing::FakeClock m_clock;
  std::chrono::steady_clock::time_point m_begin = m_clock.steady_now();
};

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

TEST_CASE("calls are made for at least as long as asked, and end with one that fails",
          "[worker][timing]") {
  int status = 0, calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto call_us = time_calls_for([] { return busy_us(50); }, 2'000, status);
  CHECK(us_since(begin) >= 2'000);
  REQUIRE(call_us);
  CHECK(*call_us >= 50);
  CHECK_FALSE(time_calls_for([&calls] { return ++calls == 3 ? 2 : 0; }, 1e9, status));
  CHECK(status == 2);
  CHECK(calls == 3);
}

TEST_CASE("settling lasts as long as asked, until two blocks agree", "[worker][timing]") {
  Settling quick({100, 100, 100, 100, 100});
  CHECK(quick.settle(2'000).settled);
  CHECK(quick.blocks == 4);  // a quarter each
  CHECK(quick.spent_us() == 2'000);
  Settling late({300, 200, 150, 120, 110, 100, 100.4, 7});
  const Settled settled = late.settle(2'000);
  CHECK(settled.settled);
  CHECK(settled.call_us == 100.4);  // within 0.5 %
  CHECK(late.blocks == 7);
  // At least two blocks, however long the first one was.
  Settling long_calls({9'000, 9'000, 7});
  CHECK(long_calls.settle(2'000).settled);
  CHECK(long_calls.blocks == 2);
  // A failed call ends it.
  Settling failing({100, 100, -1, 100});
  CHECK(failing.settle(1e9).call_us == 100);
  CHECK(failing.blocks == 3);
}

TEST_CASE("calls that never agree are given up as not settled", "[worker][timing]") {
  Settling rising({100});
  rising.growth = 1.01;
  CHECK_FALSE(rising.settle(400).settled);
  CHECK(rising.spent_us() >= 4'000);  // ten times as long
  CHECK(rising.spent_us() <= 4'000 + 400);
}

TEST_CASE("long settling has short blocks and gives up soon after its time", "[worker][timing]") {
  Settling rising({100});
  rising.growth = 1.01;
  CHECK_FALSE(rising.settle(600'000).settled);
  CHECK(rising.longest_us == 100'000);
  CHECK(rising.spent_us() >= 1'100'000);  // half a second more than wanted, not ten times as long
  CHECK(rising.spent_us() <= 1'200'000);
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
