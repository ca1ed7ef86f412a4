// SPDX-License-Identifier: MIT
// The verdict: is an output right? Per block of 64 rows, max and mean errors against the float64
// oracle are held to a budget made from the pinned `std` computation. NaN fails.
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

/// A pattern that outputs are filled with before a run; an element that still holds it was not
/// written. Made from a secret seed so that a candidate cannot look for it.
struct Poison {
  std::uint64_t seed = 0;
  /// Fills with random bit patterns, finite and non-finite ones. In each 16-bit unit the two top
  /// exponent bits are set: read as f16 every element is at least 2^9 in magnitude, as bf16 or f32
  /// 2^65, which no output or LSE of a valid problem is. So a survivor is never a coincidence.
  void fill(std::span<std::byte> bytes) const;
  /// How many elements of `element_bytes` (2, 4 or 8) still hold the pattern.
  [[nodiscard]] std::int64_t survivors(std::span<const std::byte> bytes,
                                       std::int64_t element_bytes) const;
};

/// One inequality `error <= budget` at its worst place. share = error / budget.
struct BudgetUse {
  RowBlock block;
  std::string rule;  ///< "max", "mean" or "lse"; empty when nothing was judged
  double error = 0, budget = 0, share = 0;  ///< infinite for a NaN; JSON has "inf" then
  std::int64_t row = 0, column = 0;  ///< worst element (row counted in the head); column -1 for
                                     ///< lse and mean, row -1 for mean
  double got = 0, want = 0;          ///< that element; for mean mean|out| and mean|ref|
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
/// The budgets of a block, with a = rounding_allowance(dtype) + k_sum_rounding *
/// sqrt(Skv) + k_lost_weight * Skv:
///   max  |out - ref| <= k_max_error_factor  * max |std - ref| + a * max |ref| + s
///   mean |out - ref| <= k_mean_error_factor * mean|std - ref| + a * mean|ref| + s
/// s = k_score_rounding * sqrt(D) * max (mean) over rows of |LSE| * sqrt(sum of p^2) is what f32
/// scores of that size do to the output. It matters in f32 with large scores only: there the worst
/// row of a block is an extreme value in std and in the candidate alike, and without s PyTorch's
/// own kernel came to 0.99 of the budget and beyond.
inline constexpr double k_max_error_factor = 2.0;
inline constexpr double k_mean_error_factor = 1.5;
inline constexpr double k_score_rounding = 0x1p-24;
/// What adding up one key after the other in f32 does to a row. Each partial sum is rounded, by 0.3
/// of its last place on average: 0.33 * 2^-24 * sqrt(Skv) of the sum of weights, and 0.47 * 2^-24 *
/// sqrt(Skv) of outputs as small as many equal weights make them. Where few weights are large,
/// those below half the sum's last place are lost, up to 2^-25 of the sum each; an eighth of that
/// is allowed. std adds in blocks of 64 keys and errs less: without these terms three honest CPU
/// kernels came to 1.3 to 1.7 of an f32 budget with 12,000 to 14,000 keys and few rows.
inline constexpr double k_sum_rounding = 0x1p-23;
inline constexpr double k_lost_weight = 0x1p-28;
/// |lse - ref| <= k_lse_tolerance * max(1, |ref|, deviation of the scores)
/// A row with few keys may have an LSE near 0 by cancellation, while its score was added up in f32
/// from terms of any size: by deviation * 2^-24 * sqrt(D / 6) if one after the other, 0.22 of this
/// at D = 8192. Without it a large draw failed honest kernels from D = 512 on.
inline constexpr double k_lse_tolerance = 1e-5;
/// A block with fewer elements than this tells little about what rounding may do: std may be right
/// by luck, as all elements of a row share the errors of its scores, and outputs may be near 0 by
/// cancellation. There the std error is the largest of all StdForms, and |ref| in the allowance is
/// at least k_value_deviation * sqrt(sum of p^2). Without this and s, up to 1 honest verdict in 375
/// failed on single rows of 8 to 64 elements.
inline constexpr std::int64_t k_small_block_elements = 2048;
/// In a of the budget: the rounding of the output itself. 2^-19, 2^-11, 2^-8.
double rounding_allowance(Dtype dtype);

/// How many blocks are judged when sampling.
inline constexpr std::size_t k_sampled_blocks = 24;

struct JudgeOptions {
  std::optional<std::size_t> max_blocks;  ///< default: all, or k_sampled_blocks above the bound
  std::uint32_t sample_seed = 0;
  int threads = 1;
  std::optional<Poison> poison;      ///< of out; survivors are counted over every element
  std::optional<Poison> lse_poison;  ///< of lse, likewise
  bool judge_lse = true;             ///< false when lse is empty
};

/// Judges `out` (problem dtype and layout) and `lse` (f32 [B,Hq,Sq], may be empty) against inputs.
/// Every element is scanned for non-finite values and surviving poison even when sampled.
OutputVerdict judge_output(const Problem& problem, const Inputs& inputs,
                           std::span<const std::byte> out, std::span<const float> lse,
                           const JudgeOptions& options);

}  // namespace wb::problem
