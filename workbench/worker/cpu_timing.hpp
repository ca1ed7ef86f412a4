// SPDX-License-Identifier: MIT
// The subject's stopwatch on a CPU: settling, and samples of contiguous calls. It runs beside
// untrusted code, so the supervisor checks its figures against a clock of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/invalidity.hpp"

namespace wb::worker {

/// Settling ends when two successive blocks differ by at most this share.
inline constexpr double k_settled_frac = 0.005;
/// It is given up after this many times the wanted time.
inline constexpr double k_settle_max_factor = 10;

struct Settled {
  double call_us = 0;  ///< mean of the last block
  bool settled = false;
};

inline double us_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// Calls `call() -> int` (0 is good) in blocks of a quarter of settle_us until at least settle_us
/// has gone by and two successive blocks agree, or ten times as long. At least two blocks.
/// Returns the first status that is not 0 through `status`.
template <typename Call>
Settled settle(const Call& call, double settle_us, int& status) {
  Settled result;
  double before_us = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int blocks = 1; status == 0; ++blocks) {
    const auto block_begin = std::chrono::steady_clock::now();
    std::int64_t calls = 0;
    double block_us = 0;
    do {
      status = call();
      ++calls;
      block_us = us_since(block_begin);
    } while (status == 0 && block_us < settle_us / 4);
    result.call_us = block_us / static_cast<double>(calls);
    const double spent_us = us_since(begin);
    const double change_us =
        result.call_us > before_us ? result.call_us - before_us : before_us - result.call_us;
    result.settled = blocks >= 2 && change_us <= k_settled_frac * result.call_us;
    if (result.settled && spent_us >= settle_us) break;
    if (blocks >= 2 && spent_us >= k_settle_max_factor * settle_us) break;
    before_us = result.call_us;
  }
  return result;
}

/// `samples` samples of `calls` calls each, back to back: the end of one is the start of the next,
/// so their sum is the whole block. Nanoseconds per sample.
template <typename Call>
std::vector<std::int64_t> take_samples(const Call& call, std::int64_t samples, std::int64_t calls,
                                       int& status) {
  std::vector<std::int64_t> sample_ns;
  sample_ns.reserve(static_cast<std::size_t>(samples));
  auto begin = std::chrono::steady_clock::now();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t i = 0; i < calls; ++i) status |= call();
    const auto end = std::chrono::steady_clock::now();
    sample_ns.push_back(std::chrono::nanoseconds(end - begin).count());
    begin = end;
  }
  return sample_ns;
}

}  // namespace wb::worker
