// SPDX-License-Identifier: MIT
// The verdict: whether an output is correct. Per block of 64 rows, max and mean errors against the
// float64 oracle must stay within a budget that comes from the pinned `std` computation. NaN fails.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/attention.hpp"

namespace wb::problem {

/// A pattern that fills outputs before a run; an element that still holds it was not written. It is
/// made from a secret seed, so that a candidate cannot look for it.
struct Poison {
  std::uint64_t seed = 0;
  /// Fills with random bit patterns, finite and non-finite. In each 16-bit unit the two top
  /// exponent bits are set: read as f16 every element is at least 2^9 in magnitude, as bf16 or f32
  /// 2^65. No output or LSE of a valid problem is that large, so a surviving pattern is never a
  /// coincidence.
  void fill(std::span<std::byte> bytes) const;
  /// How many elements of `element_bytes` (2, 4 or 8) still hold the pattern.
  [[nodiscard]] std::int64_t survivors(std::span<const std::byte> bytes,
                                       std::int64_t element_bytes) const;
};

/// One inequality `error <= budget` at its worst element. share = error / budget.
struct BudgetUse {
  RowBlock block;
  std::string rule;  ///< "max", "mean" or "lse"; empty when nothing was judged
  double error = 0, budget = 0, share = 0;  ///< infinite for a NaN, which JSON writes as "inf"
  /// Worst element (row within the head); column -1 for lse and mean, row -1 for mean.
  std::int64_t row = 0, column = 0;
  double got = 0, want = 0;  ///< at that element; for mean: mean|out| and mean|ref|
};

struct OutputVerdict {
  bool pass = false;
  std::string reason;  ///< empty when passed; else one clause ("non-finite output", …)
  BudgetUse worst;     ///< of all blocks judged
  std::int64_t blocks_judged = 0, blocks_total = 0;
  std::int64_t non_finite = 0;  ///< elements of out (inf, NaN) and of lse (+inf, NaN)
  std::int64_t unwritten = 0;   ///< elements of out and lse that still hold the poison
};
Json to_json(const OutputVerdict& verdict);
Result<OutputVerdict> output_verdict_from_json(const Json& json);

/// Above this many multiply-adds (kept pairs x (D+Dv)) the CPU judge samples blocks.
inline constexpr double k_full_oracle_max_madds = 2.0e8;
/// The budgets of a block, with a = rounding_allowance(dtype) + k_sum_rounding * sqrt(Skv) +
/// k_lost_weight * Skv:
///   max  |out - ref| <= k_max_error_factor  * max |std - ref| + a * max |ref| + s
///   mean |out - ref| <= k_mean_error_factor * mean|std - ref| + a * mean|ref| + s
/// s = k_score_rounding * sqrt(D) * max (mean) over rows of |LSE| * sqrt(sum of p^2) bounds what
/// f32 rounding of such scores does to the output. It matters only in f32 with large scores, where
/// the worst row of a block is an extreme value in std and in the candidate alike; without s
/// PyTorch's own kernel used 0.99 of the budget and more.
inline constexpr double k_max_error_factor = 2.0;
inline constexpr double k_mean_error_factor = 1.5;
inline constexpr double k_score_rounding = 0x1p-24;
/// The error of adding up one key after the other in f32. Each partial sum is rounded by 0.3 of its
/// last place on average, which gives 0.33 * 2^-24 * sqrt(Skv) of the sum of weights, and 0.47 *
/// 2^-24 * sqrt(Skv) of outputs that many equal weights make small. Where few weights are large,
/// weights below half the sum's last place are lost, up to 2^-25 of the sum each; an eighth of that
/// is allowed. std adds in blocks of 64 keys and errs less: without these terms three honest CPU
/// kernels used 1.3 to 1.7 of an f32 budget with 12,000 to 14,000 keys and few rows.
inline constexpr double k_sum_rounding = 0x1p-23;
inline constexpr double k_lost_weight = 0x1p-28;
/// |lse - ref| <= k_lse_tolerance * max(1, |ref|, deviation of the scores)
/// A row with few keys may have an LSE near 0 by cancellation, although its score is a sum of f32
/// terms of any size. Adding them in order errs by deviation * 2^-24 * sqrt(D / 6), which is 0.22
/// of this bound at D = 8192. Without the deviation, large draws failed honest kernels from D = 512
/// on.
inline constexpr double k_lse_tolerance = 1e-5;
/// A block with fewer elements than this is a poor estimate of rounding: std may be right by luck,
/// since all elements of a row share its score errors, and outputs may be near 0 by cancellation.
/// For such a block the std error is the largest of all StdForms, and |ref| in the allowance is at
/// least k_value_deviation * sqrt(sum of p^2). Without this and s, up to 1 honest verdict in 375
/// failed on single rows of 8 to 64 elements.
inline constexpr std::int64_t k_small_block_elements = 2048;
/// The part of `a` for rounding of the output itself: 2^-19 (f32), 2^-11 (f16), 2^-8 (bf16).
double rounding_allowance(Dtype dtype);

/// How many blocks are judged when the oracle is sampled.
inline constexpr std::size_t k_sampled_blocks = 24;

struct JudgeOptions {
  std::optional<std::size_t> max_blocks;  ///< default: all, or k_sampled_blocks above the bound
  std::uint32_t sample_seed = 0;
  int threads = 1;
  std::optional<Poison> poison;      ///< poison of out; survivors are counted over every element
  std::optional<Poison> lse_poison;  ///< poison of lse, likewise
  bool judge_lse = true;             ///< false when lse is empty
};

/// Judges `out` (problem dtype and layout) and `lse` (f32 [B,Hq,Sq], may be empty) against inputs.
/// Every element is scanned for non-finite values and surviving poison even when sampled.
OutputVerdict judge_output(const Problem& problem, const Inputs& inputs,
                           std::span<const std::byte> out, std::span<const float> lse,
                           const JudgeOptions& options);

}  // namespace wb::problem
