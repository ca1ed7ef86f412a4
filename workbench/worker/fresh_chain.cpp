// SPDX-License-Identifier: MIT
// First calls in chains. On a GPU a single call lasts microseconds, while the messages around it
// scatter by tens of microseconds. So many calls follow each other between two messages. The device
// itself copies each call's inputs right before it.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/hand_over.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

/// How many chains with calls have their last output judged, drawn after they ended. Some 50 chains
/// per comparison find a subject that skips one call in five in all but one of ten thousand
/// comparisons.
constexpr std::uint32_t k_judged_chain_one_in = 8;

}  // namespace

std::int64_t TurnConductor::most_chained_calls(double room_bytes) const {
  return chained_calls(m_args.plan, m_call_us,
                       static_cast<double>(cuda::device_inputs_bytes(m_args.problem)), room_bytes,
                       m_context.clock);
}

/// Seeds of `again` are all the last one, so that a subject that remembers one result is spared all
/// the work.
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
  WB_TRY_ASSIGN(const auto time, time_block(chain_of(what, calls), is_picked));
  m_samples_us.resize(timed);
  if (picked) {
    WB_TRY_ASSIGN(const auto wrong, wrong_first_call());
    if (wrong) return wrong_timed_output(*wrong);
  }
  // Measured from "started", before which the subject queues, which takes longer than a chain for
  // Python. The delay of a supervisor that noticed the start late for lack of a CPU is added. If it
  // was told late, the subject's own time is the minimum, which can only lengthen the result.
  const double told_us = time.wall_us + time.late_us - time.own_delay_us;
  const double us = std::max(told_us, std::min(time.reported_us, time.around_us));
  m_chained_us += us;
  return us / static_cast<double>(calls);
}

}  // namespace wb::worker
