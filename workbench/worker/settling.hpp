// SPDX-License-Identifier: MIT
// Settling: a subject's own calls, untimed, until their time no longer changes. On CPU and GPU.
#pragma once

#include <chrono>
#include <cmath>
#include <optional>

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

/// `block(us) -> std::optional<double>` makes calls for at least so long and gives the mean time of
/// one, or nothing when a call failed, which ends the settling. Blocks of a quarter of settle_us
/// until at least settle_us has gone by and two successive ones agree, or ten times as long. At
/// least two blocks.
template <typename Block>
Settled settle(const Block& block, double settle_us) {
  Settled result;
  double before_us = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int blocks = 1;; ++blocks) {
    const std::optional<double> call_us = block(settle_us / 4);
    if (!call_us) return result;
    result.call_us = *call_us;
    const double spent_us = us_since(begin);
    const double change_us = std::abs(result.call_us - before_us);
    result.settled = blocks >= 2 && change_us <= k_settled_frac * result.call_us;
    if (result.settled && spent_us >= settle_us) return result;
    if (blocks >= 2 && spent_us >= k_settle_max_factor * settle_us) return result;
    before_us = result.call_us;
  }
}

}  // namespace wb::worker
