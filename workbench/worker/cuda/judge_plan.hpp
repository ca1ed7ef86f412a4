// SPDX-License-Identifier: MIT
// What the GPU judge will do for a problem, before it touches a device: which blocks, in which
// waves, with how much memory. Pure functions, for the judge and for whoever must budget memory.
#pragma once

#include <cstddef>
#include <vector>

#include "problem/verdict.hpp"

namespace wb::worker::cuda {

/// Up to this many multiply-adds (tile_madds) every block is judged; above it as many as stay
/// below it, k_sampled_blocks at least. An H200 does 1.8e12 to 2.4e12 a second on large
/// problems: a judgement takes about a second at most (docs/results/workbench.md).
inline constexpr double k_full_gpu_oracle_max_madds = 2.0e12;

/// Room of one wave of blocks: thousands of tiles at 4,096 keys, so that a large GPU stays busy.
inline constexpr std::size_t k_wave_bytes = std::size_t{2} << 30;
inline constexpr std::size_t k_max_wave_blocks = 32'768;  ///< a grid's second dimension is limited

/// Multiply-adds of judging a block: those of the oracle, and std has as many; twice as many
/// where a small block has three forms of std. Tiles are 64 rows, whatever the block has.
double tile_madds(const problem::Problem& problem, const problem::RowBlock& block);

/// The blocks of an output that are judged: all, or whole blocks sampled as sample_row_blocks does.
std::vector<problem::RowBlock> gpu_blocks(const problem::Problem& problem,
                                          const problem::JudgeOptions& options);

/// Sizes of the room of one wave, in bytes of device memory.
struct WaveRoom {
  std::size_t blocks = 0;  ///< of one wave
  std::size_t scores = 0, rescale = 0, ref = 0, row_figures = 0, std_out = 0, std_sum = 0;
  std::size_t errors = 0, tasks = 0;
  [[nodiscard]] std::size_t total() const {
    return scores + rescale + ref + row_figures + std_out + std_sum + errors + tasks;
  }
};
/// For at most `block_count` blocks at a time; one block at least, whatever it takes.
WaveRoom wave_room(const problem::Problem& problem, std::size_t block_count);

/// Device memory of one judgement: inputs, a wave's room, and a copy of out where it comes from
/// the host. Allocations are rounded up by the driver; that is not in it.
std::size_t judge_device_bytes(const problem::Problem& problem, std::size_t block_count,
                               bool out_from_host);

}  // namespace wb::worker::cuda
