// SPDX-License-Identifier: MIT
// A block like the timed ones, on inputs of large magnitude: a variant that recognizes timing in
// any way must be correct there too.
#include <algorithm>

#include "measure/statistics.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

constexpr double k_long_call_us = 500;  ///< longer calls are made once

}  // namespace

Outcome<void> TurnConductor::try_large_calls() {
  const bool is_long = measure::median(m_samples_us) > k_long_call_us;
  const std::int64_t calls = is_long ? 1 : m_blocks.calls_per_sample;
  if (auto primed = prime(true, !cold() && !is_long, calls, problem::Draw::large); !primed.ok()) {
    return primed;
  }
  const std::size_t timed = m_samples_us.size();
  const auto time = time_calls(is_long ? 1 : m_blocks.samples_per_block, calls);
  if (!time.ok()) return time.error();
  m_samples_us.resize(timed);
  const auto fails = spot_fails("calls on inputs of large magnitude");
  if (!fails.ok()) return fails.error();
  return {};
}

}  // namespace wb::worker
