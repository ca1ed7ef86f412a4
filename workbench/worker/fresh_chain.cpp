// SPDX-License-Identifier: MIT
// First calls in chains: on a GPU a single one lasts microseconds, and the messages around it
// scatter by tens of them. So many follow each other that the messages, which come once, are little
// beside them. The device itself puts the inputs of each in place, right before it.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/secret.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/hand_over.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

/// Of the chains with calls, drawn when they have ended: whose last output is judged. Who skips one
/// call in five is found in all but one of ten thousand comparisons, by some 50 of them.
constexpr std::uint32_t k_judged_chain_one_in = 8;

}  // namespace

std::int64_t TurnConductor::most_chained_calls(double room_bytes) const {
  return chained_calls(m_args.plan, m_call_us,
                       static_cast<double>(cuda::device_inputs_bytes(m_args.problem)), room_bytes,
                       m_context.clock);
}

/// Those of `again` are the last seed's, so whoever remembers one result is spared all the work.
Json TurnConductor::chain_of(ChainOf what, std::int64_t calls) {
  m_poison = draw_poison();
  m_draw = problem::Draw::normal;
  Json seeds = Json::array();
  for (std::int64_t i = 0; i < calls; ++i) {
    if (what == ChainOf::fresh) m_seed = draw_secret<std::uint32_t>();
    seeds.push_back(m_seed);
  }
  Json chain{{"seeds", std::move(seeds)},
             {"poison", m_poison.seed},
             {"with_calls", what != ChainOf::fills}};
  if (m_inputs) {
    m_inputs->refill(m_seed, m_draw, m_context.threads, chain);
    chain["seed_offset"] = offsetof(cuda::device::FillParams, seed);
  }
  return {{"op", "go"}, {"samples", 1}, {"calls", 1}, {"chain", std::move(chain)}};
}

Outcome<double> TurnConductor::chained_call_us(ChainOf what, std::int64_t calls) {
  bool picked = false;
  const auto is_picked = [&] {
    picked = what != ChainOf::fills && draw_secret<std::uint32_t>() % k_judged_chain_one_in == 0;
    return picked;
  };
  const std::size_t timed = m_samples_us.size();
  const auto time = time_block(chain_of(what, calls), is_picked);
  if (!time.ok()) return time.error();
  m_samples_us.resize(timed);
  if (picked) {
    const auto wrong = wrong_first_call();
    if (!wrong.ok()) return wrong.error();
    if (*wrong) return wrong_timed_output(**wrong);
  }
  // From "started" on: before it the subject queues, for longer than a chain lasts where it is
  // Python. A supervisor that heard of the start late for want of a CPU has that added; one that
  // was told late counts no less than the subject says, which can only lengthen it.
  const double told_us = time->wall_us + time->late_us - time->own_delay_us;
  const double us = std::max(told_us, std::min(time->reported_us, time->around_us));
  m_chained_us += us;
  return us / static_cast<double>(calls);
}

}  // namespace wb::worker
