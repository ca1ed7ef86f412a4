// SPDX-License-Identifier: MIT
#include "worker/cuda/judge_plan.hpp"

#include <algorithm>
#include <limits>

#include "problem/decision.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/gpu_inputs.hpp"

namespace wb::worker::cuda {

using problem::k_rows_per_block;
using problem::Problem;

namespace {

constexpr std::int64_t k_shortest_key_block = 16;  // of StdForm::short_blocks

/// tile_madds of all blocks of a problem. Blocks at the same place in their heads cost the same.
double all_madds(const Problem& problem) {
  double madds = 0;
  for (std::int64_t begin = 0; begin < problem.Sq; begin += k_rows_per_block) {
    madds += tile_madds(problem, {0, 0, begin, std::min(begin + k_rows_per_block, problem.Sq)});
  }
  return madds * static_cast<double>(problem.B * problem.Hq);
}

}  // namespace

double tile_madds(const Problem& problem, const problem::RowBlock& block) {
  const auto keys = static_cast<double>(problem::visible_keys(problem, block.row_end - 1));
  const double factor = problem::is_small_block(problem, block) ? 2.0 : 1.0;
  return factor * static_cast<double>(k_rows_per_block) * keys *
         static_cast<double>(problem.D + problem.Dv);
}

std::vector<problem::RowBlock> gpu_blocks(const Problem& problem,
                                          const problem::JudgeOptions& options) {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  if (options.max_blocks) {
    most = *options.max_blocks;
  } else if (const double madds = all_madds(problem); madds > k_full_gpu_oracle_max_madds) {
    const double share = k_full_gpu_oracle_max_madds / madds;
    most = std::max(
        problem::k_sampled_blocks,
        static_cast<std::size_t>(share * static_cast<double>(problem::row_block_count(problem))));
  }
  return problem::sample_row_blocks(problem, most, options.sample_seed);
}

WaveRoom wave_room(const Problem& problem, std::size_t block_count) {
  const auto rows = static_cast<std::size_t>(std::min(problem.Sq, k_rows_per_block));
  const auto keys = static_cast<std::size_t>(problem.Skv);
  const auto width = static_cast<std::size_t>(problem.Dv);
  const std::size_t pitch = (keys + device::k_tile - 1) / device::k_tile * device::k_tile;
  const std::size_t key_blocks = (keys + k_shortest_key_block - 1) / k_shortest_key_block;
  WaveRoom one{.blocks = 1,
               .scores = rows * pitch * sizeof(double),  // std's floats reuse this memory later
               .rescale = rows * key_blocks * sizeof(float),
               .ref = rows * width * sizeof(double),
               .row_figures = rows * 3 * sizeof(double),
               .std_out = rows * width * sizeof(float),
               .std_sum = rows * sizeof(float),
               .errors = sizeof(device::ErrorSums),
               .tasks = sizeof(device::BlockTask)};
  const std::size_t count = std::clamp<std::size_t>(
      k_wave_bytes / one.total(), 1, std::clamp<std::size_t>(block_count, 1, k_max_wave_blocks));
  for (std::size_t* size : {&one.blocks, &one.scores, &one.rescale, &one.ref, &one.row_figures,
                            &one.std_out, &one.std_sum, &one.errors, &one.tasks}) {
    *size *= count;
  }
  return one;
}

std::size_t judge_device_bytes(const Problem& problem, std::size_t block_count,
                               bool out_from_host) {
  return device_inputs_bytes(problem) + wave_room(problem, block_count).total() +
         (out_from_host ? problem::out_bytes(problem) : 0);
}

}  // namespace wb::worker::cuda
