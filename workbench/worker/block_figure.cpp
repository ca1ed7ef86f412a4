// SPDX-License-Identifier: MIT
#include "worker/block_figure.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "measure/quantiles.hpp"

namespace wb::worker {
namespace {

constexpr double k_steady_share = 0.003;
constexpr double k_lying_median_frac = 0.85;
constexpr double k_ping_factor = 2;
constexpr double k_ping_allowance_us = 20;
/// The most seen between the messages and the first and last event of a block.
constexpr double k_gpu_ends_us = 200;
constexpr double k_least_figure_us = 1e-6;
/// The kept samples are known in advance, so a subject must not gain by making only those fast.
constexpr double k_thinned_least_frac = 0.99;

std::vector<double> copy_of(std::span<const double> values) {
  return {values.begin(), values.end()};
}

}  // namespace

Pings pings_of(std::vector<double> times_us, double most_us) {
  if (times_us.empty()) return {};
  for (double& us : times_us) us = std::min(us, most_us);
  const auto [least, most] = std::minmax_element(times_us.begin(), times_us.end());
  return {*least, measure::median(times_us), *most};
}

double most_ping_us(double empty_ping_us) {
  if (!(empty_ping_us > 0)) return std::numeric_limits<double>::infinity();
  return k_ping_factor * empty_ping_us + k_ping_allowance_us;
}

double own_us_of(const BlockTime& time, Clock clock) {
  return clock == Clock::host ? time.around_us : time.wall_us - time.put_off_us;
}

double block_bound_us(const BlockFacts& block, const Pings& pings, Clock clock) {
  // A single call on a GPU is shorter than the overhead around it.
  if (clock == Clock::device && block.own_us < k_witness_block_us) return 0;
  const double ends_us = clock == Clock::device ? k_gpu_ends_us : 0;
  const double work_us = block.own_us - pings.most_us - ends_us;
  return std::max(work_us, 0.0) / static_cast<double>(block.calls);
}

double block_figure_us(const BlockFacts& block, const Pings& pings, Clock clock) {
  const double bound_us = block_bound_us(block, pings, clock);
  const bool is_steady = pings.most_us - pings.least_us < k_steady_share * block.own_us;
  if (clock == Clock::host && is_steady) {
    const double own_us = (block.own_us - pings.median_us) / static_cast<double>(block.calls);
    return std::max({own_us, bound_us, k_least_figure_us});
  }
  const double mean_us = std::accumulate(block.samples_us.begin(), block.samples_us.end(), 0.0) /
                         static_cast<double>(std::max<std::size_t>(block.samples_us.size(), 1));
  const double median_us = measure::median(copy_of(block.samples_us));
  const bool is_lying = median_us < k_lying_median_frac * mean_us;
  return std::max(is_lying ? mean_us : median_us, bound_us);
}

std::vector<double> samples_of_blocks(std::span<const BlockFacts> blocks, const Pings& pings,
                                      Clock clock, std::int64_t max_samples) {
  std::vector<double> figures_us, samples_us;
  bool is_corrected = false;
  for (const BlockFacts& block : blocks) {
    const double figure_us = block_figure_us(block, pings, clock);
    const double median_us = measure::median(copy_of(block.samples_us));
    figures_us.push_back(figure_us);
    is_corrected = is_corrected || figure_us != median_us;
    for (const double us : block.samples_us) samples_us.push_back(us / median_us * figure_us);
  }
  samples_us = thinned(samples_us, max_samples);
  if (samples_us.empty()) return samples_us;
  const double wanted_us = measure::median(figures_us), told_us = measure::median(samples_us);
  // Without corrections the samples of all blocks together describe the turn best.
  if (!is_corrected && told_us >= k_thinned_least_frac * wanted_us) return samples_us;
  for (double& us : samples_us) us *= wanted_us / told_us;
  return samples_us;
}

bool is_below_hot(double cold_us, double hot_us) {
  return hot_us > 0 && cold_us < k_cold_least_frac * hot_us;
}

}  // namespace wb::worker
