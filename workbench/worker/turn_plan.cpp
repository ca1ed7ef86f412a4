// SPDX-License-Identifier: MIT
#include "worker/turn_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "measure/quantiles.hpp"

namespace wb::worker {

using measure::PlanKind;

namespace {

constexpr double k_tiny_us = 1e-3;
constexpr std::int64_t k_max_calls_per_sample = 1'000'000;
constexpr std::int64_t k_cold_refill_every = 10;
constexpr std::int64_t k_most_cold_gpu_blocks = 64;
/// A block's wall time is no witness when message times exceed this share of it.
constexpr double k_round_trip_share = 0.1;
constexpr double k_least_reported_frac = 0.4;
constexpr double k_waiting_share = 0.3;
/// The answer takes 30 to 70 us behind calls that filled the caches (measurement.md).
constexpr double k_late_python_end_us = 70, k_late_end_share = 0.1;

double at_least(double value, double floor) {
  return value > floor ? value : floor;
}

std::int64_t ratio_up(double part, double whole, std::int64_t low, std::int64_t high) {
  const double count = std::ceil(part / whole);
  if (!(count > static_cast<double>(low))) return low;
  return count < static_cast<double>(high) ? static_cast<std::int64_t>(count) : high;
}

}  // namespace

std::int64_t chained_calls(const measure::Plan& plan, double call_us, double input_bytes,
                           double room_bytes, Clock clock) {
  if (clock == Clock::host || plan.kind != PlanKind::hot) return 0;
  const double bytes = std::min(room_bytes, k_most_chain_bytes);
  const auto most = static_cast<std::int64_t>(bytes / at_least(input_bytes, 1));
  return std::clamp<std::int64_t>(
      most, 1, ratio_up(k_chain_us, at_least(call_us, k_tiny_us), 1, k_most_chained_calls));
}

BlockPlan plan_blocks(const measure::Plan& plan, double call_us, double refill_us, Clock clock,
                      bool is_python) {
  BlockPlan blocks;
  const double call = at_least(call_us, k_tiny_us);
  const bool on_gpu = clock == Clock::device;
  if (plan.kind == PlanKind::hot || (on_gpu && plan.kind == PlanKind::eager)) {
    blocks.calls_per_sample = on_gpu ? ratio_up(k_gpu_sample_us, call, 1, k_most_graph_calls)
                                     : ratio_up(k_sample_us, call, 1, k_max_calls_per_sample);
  }
  const double sample_us = call * static_cast<double>(blocks.calls_per_sample);
  const std::int64_t min_samples = std::max<std::int64_t>(plan.min_samples, 1);
  const std::int64_t max_samples = std::max(plan.max_samples, min_samples);
  const std::int64_t wanted = ratio_up(plan.timed_us, sample_us, min_samples, max_samples);
  if (plan.kind == PlanKind::cold) {
    blocks.blocks =
        on_gpu ? std::max(std::min(wanted, k_most_cold_gpu_blocks), min_samples) : wanted;
    blocks.refill_every = k_cold_refill_every;
  } else {
    // A block must be long enough for the second witness even where max_samples would end it
    // earlier; the samples are thinned afterwards. Calls longer than a block share one block.
    const auto that_last = [sample_us](double block_us) {
      return ratio_up(block_us, sample_us, 1, k_max_samples_per_block);
    };
    const std::int64_t for_witness = that_last(on_gpu ? k_gpu_block_us : k_witness_block_us);
    blocks.samples_per_block = for_witness == 1 ? wanted : for_witness;
    if (is_python && !on_gpu) {
      blocks.samples_per_block = std::max(blocks.samples_per_block, that_last(k_python_block_us));
    }
    blocks.blocks = (wanted + blocks.samples_per_block - 1) / blocks.samples_per_block;
  }
  const double refills =
      std::ceil(static_cast<double>(blocks.blocks) / static_cast<double>(blocks.refill_every));
  if (!(refills * refill_us <= plan.timed_us)) blocks.refill_every = blocks.blocks;
  return blocks;
}

bool may_end_late(PlanKind kind, Clock clock, bool is_python, double figure_us) {
  return kind == PlanKind::cold && clock == Clock::host && is_python &&
         !(k_late_end_share * figure_us >= k_late_python_end_us);
}

Witness judge_block_times(std::span<const BlockTime> blocks, double round_trip_us) {
  double wall_us = 0, reported_us = 0;
  std::vector<double> ratios, excused_ratios;
  const auto ratio = [](double told_us, double seen_us) {
    return seen_us > 0 ? told_us / seen_us : 1.0;
  };
  for (const BlockTime& block : blocks) {
    const double seen_us = block.wall_us - round_trip_us;
    wall_us += block.wall_us;
    reported_us += block.reported_us;
    ratios.push_back(ratio(block.reported_us, seen_us));
    // Time that the kernel says either side waited for a CPU is no lie.
    excused_ratios.push_back(
        ratio(block.reported_us, seen_us - block.own_delay_us - block.delay_us - block.put_off_us));
  }
  const auto count = static_cast<double>(std::max<std::size_t>(blocks.size(), 1));
  const double mean_us = wall_us / count;
  // Blocks far shorter than planned: other work slowed settling, and the time around them is mostly
  // waiting for a CPU, of which a hypervisor's part is not accounted.
  if (reported_us / count < k_least_reported_frac * k_witness_block_us) return Witness::too_short;
  const bool long_enough =
      mean_us >= k_witness_block_us && round_trip_us <= k_round_trip_share * mean_us;
  if (!long_enough) return Witness::too_short;
  if (measure::median(ratios) >= k_witness_frac) return Witness::agrees;
  return measure::median(excused_ratios) >= k_witness_frac ? Witness::excused : Witness::mismatch;
}

bool too_much_waiting(std::span<const BlockTime> blocks) {
  BlockTime sum;
  for (const BlockTime& block : blocks) {
    sum.samples_us += block.samples_us;
    sum.reported_us += block.reported_us;
    sum.wall_us += block.wall_us;
    sum.delay_us += block.delay_us + block.own_delay_us + block.late_us;
  }
  return sum.delay_us > k_waiting_share * sum.wall_us ||
         sum.samples_us < (1 - k_waiting_share) * sum.reported_us;
}

double six_digits(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  double rounded = value;  // from_chars leaves it unchanged when it fails
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::vector<double> thinned(const std::vector<double>& samples, std::int64_t max_samples) {
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(max_samples, 1));
  if (samples.size() <= limit) return samples;
  std::vector<double> kept;
  for (std::size_t i = 0; i < limit; ++i) kept.push_back(samples[i * samples.size() / limit]);
  return kept;
}

}  // namespace wb::worker
