// SPDX-License-Identifier: MIT
// Settling: untimed calls of a subject until their time no longer changes. On CPU and GPU.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "worker/microseconds.hpp"

namespace wb::worker {

/// Settling ends when two successive blocks differ by at most this share.
inline constexpr double k_settled_frac = 0.005;
/// Settling stops at the latest after this many times settle_us, or after k_settle_most_extra_us
/// more than settle_us if that is less, since the sustained regime asks for seconds.
inline constexpr double k_settle_max_factor = 10;
inline constexpr double k_settle_most_extra_us = 500'000;
inline constexpr double k_settle_longest_block_us = 100'000;

struct Settled {
  double call_us = 0;  ///< mean of the last block
  bool settled = false;
};

/// `block(us) -> std::optional<double>` makes calls for at least `us` and returns the mean time of
/// one, or nothing after a failed call, which ends the settling. Blocks last a quarter of
/// settle_us, at most 100 ms. Stops when settle_us has passed and two successive blocks agree, or
/// after ten times settle_us, or half a second more than it. At least two blocks. `now() ->
/// time_point` of the steady clock.
template <typename Block, typename Now = decltype(&std::chrono::steady_clock::now)>
Settled settle(const Block& block, double settle_us,
               const Now& now = &std::chrono::steady_clock::now) {
  Settled result;
  double before_us = 0;
  const double block_us = std::min(settle_us / 4, k_settle_longest_block_us);
  const double most_us =
      std::min(k_settle_max_factor * settle_us, settle_us + k_settle_most_extra_us);
  const auto begin = now();
  for (int blocks = 1;; ++blocks) {
    const std::optional<double> call_us = block(block_us);
    if (!call_us) return result;
    result.call_us = *call_us;
    const double spent_us = us_between(begin, now());
    const double change_us = std::abs(result.call_us - before_us);
    result.settled = blocks >= 2 && change_us <= k_settled_frac * result.call_us;
    if (result.settled && spent_us >= settle_us) return result;
    if (blocks >= 2 && spent_us >= most_us) return result;
    before_us = result.call_us;
  }
}

}  // namespace wb::worker
