// SPDX-License-Identifier: MIT
// Plans the GPU judge's work for a problem without a device: which blocks, in which waves, with how
// much memory. Pure functions, for the judge and for memory budgets.
#pragma once

#include <cstddef>
#include <vector>

#include "problem/verdict.hpp"

namespace wb::worker::cuda {

/// Up to this many multiply-adds (tile_madds) every block is judged; above, as many blocks as stay
/// below it, at least k_sampled_blocks. An H200 does 1.8e12 to 2.4e12 a second on large problems,
/// so that a judgement takes about a second at most (docs/results/workbench.md).
inline constexpr double k_full_gpu_oracle_max_madds = 2.0e12;

/// Scratch memory of one wave: thousands of tiles at 4,096 keys, which keeps a large GPU busy.
inline constexpr std::size_t k_wave_bytes = std::size_t{2} << 30;
inline constexpr std::size_t k_max_wave_blocks = 32'768;  ///< a grid's second dimension is limited

/// Multiply-adds of judging a block: the oracle's, plus as many for std; twice as many for a small
/// block, which has three forms of std. A tile has 64 rows even if the block has fewer.
double tile_madds(const problem::Problem& problem, const problem::RowBlock& block);

/// The blocks of an output to judge: all, or whole blocks sampled as by sample_row_blocks.
std::vector<problem::RowBlock> gpu_blocks(const problem::Problem& problem,
                                          const problem::JudgeOptions& options);

/// Sizes of one wave's scratch memory, in bytes of device memory.
struct WaveRoom {
  std::size_t blocks = 0;  ///< of one wave
  std::size_t scores = 0, rescale = 0, ref = 0, row_figures = 0, std_out = 0, std_sum = 0;
  std::size_t errors = 0, tasks = 0;
  [[nodiscard]] std::size_t total() const {
    return scores + rescale + ref + row_figures + std_out + std_sum + errors + tasks;
  }
};
/// For at most `block_count` blocks at a time, and at least one block whatever its size.
WaveRoom wave_room(const problem::Problem& problem, std::size_t block_count);

/// Device memory of one judgement: inputs, a wave's scratch memory, and a copy of out if it comes
/// from the host. Excludes the driver's rounding of allocations.
std::size_t judge_device_bytes(const problem::Problem& problem, std::size_t block_count,
                               bool out_from_host);

}  // namespace wb::worker::cuda
