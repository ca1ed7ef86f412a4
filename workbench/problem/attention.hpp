// SPDX-License-Identifier: MIT
// The correct result: the float64 oracle, and the pinned computation `std` in the storage dtype
// that sets the error budget. Used by the judge only; never linked into a variant.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/inputs.hpp"
#include "problem/problem.hpp"

namespace wb::problem {

/// 64 query rows of one (b, h): the unit of judging. row_begin is a multiple of 64.
struct RowBlock {
  std::int64_t b = 0, h = 0, row_begin = 0, row_end = 0;
};
inline constexpr std::int64_t k_rows_per_block = 64;

std::int64_t row_block_count(const Problem& problem);
std::vector<RowBlock> all_row_blocks(const Problem& problem);

/// Samples whole blocks: the first and last of every (b, h) if these are at most `max_blocks` (else
/// those of random heads, for half of the sample), filled up to max_blocks with random ones (by
/// `seed`). Returns all blocks when there are at most max_blocks. In the order of all_row_blocks.
std::vector<RowBlock> sample_row_blocks(const Problem& problem, std::size_t max_blocks,
                                        std::uint32_t seed);

/// Rows of out ([rows, Dv], row-major) and lse ([rows]) of one block, in float64.
struct BlockOutput {
  std::vector<double> out;
  std::vector<double> lse;
  /// Oracle only, [rows]: sqrt(sum of p^2). Multiplied by the standard deviation of v it is the
  /// expected magnitude of the row's output.
  std::vector<double> weight_norm;
};

/// Float64 throughout, keys in order, two passes (exact row maximum first).
BlockOutput oracle_block(const Problem& problem, const Inputs& inputs, const RowBlock& block);

/// Correct computations in the storage dtype, with f32 accumulation, P and out rounded to the
/// dtype. Sums run in order, the row sum uses the unrounded P, and no multiply-add is fused: the
/// bits are the same on every host with the same expf, exp2f and logf. For f32, everything is f32.
enum class StdForm {
  pinned,        ///< `std`: online softmax over blocks of 64 keys
  short_blocks,  ///< blocks of 16 keys, exp2, scale * log2(e) multiplied into q in f32
  normalized     ///< exact maximum and sum first; P is divided by the sum before it is rounded
};
BlockOutput std_block(const Problem& problem, const Inputs& inputs, const RowBlock& block,
                      StdForm form = StdForm::pinned);

}  // namespace wb::problem
