// SPDX-License-Identifier: MIT
#include "problem/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "problem/gemm.hpp"
#include "problem/parallel.hpp"

namespace wb {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t k_scan_bytes = std::size_t{1} << 20;

/// error / budget, infinite when the inequality cannot be told to hold (NaN on either side).
double share_of(double error, double budget) {
  if (!(error <= budget)) {
    const double share = error / budget;
    return share > 1.0 ? share : k_infinity;
  }
  if (!(budget < k_infinity)) return k_infinity;  // a budget that allows everything judges nothing
  return error == 0 ? 0.0 : error / budget;
}

/// Keeps the worse of two; the first one wins a tie, so that the result is reproducible.
void keep_worst(BudgetUse& worst, BudgetUse candidate) {
  if (worst.rule.empty() || candidate.share > worst.share) worst = std::move(candidate);
}

struct Errors {
  double max = 0, mean = 0;  ///< of |x - ref|; a NaN in x makes both infinite
  std::int64_t worst_index = 0;
  double max_magnitude = 0, mean_magnitude = 0;  ///< of |x|
};

Errors errors_of(const std::vector<double>& values, const std::vector<double>& reference) {
  Errors errors;
  double sum = 0;
  double magnitude_sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - reference[i]);
    const double error = std::isnan(difference) ? k_infinity : difference;
    if (error > errors.max) {
      errors.max = error;
      errors.worst_index = static_cast<std::int64_t>(i);
    }
    sum += error;
    magnitude_sum += std::abs(values[i]);
    errors.max_magnitude = std::max(errors.max_magnitude, std::abs(values[i]));
  }
  const auto count = static_cast<double>(values.size());
  errors.mean = sum / count;
  errors.mean_magnitude = magnitude_sum / count;
  return errors;
}

BudgetUse judge_lse_row(const RowBlock& block, std::int64_t row, double got, double want) {
  BudgetUse use{block, "lse", 0, 0, 0, row, -1, got, want};
  use.budget = std::isinf(want) ? 0.0 : k_lse_tolerance * std::max(1.0, std::abs(want));
  use.error = got == want ? 0.0 : std::abs(got - want);  // -inf matches -inf only
  if (std::isnan(use.error)) use.error = k_infinity;
  use.share = share_of(use.error, use.budget);
  return use;
}

/// Rows of one block of the output as numbers, [rows, Dv].
std::vector<double> output_rows(const Problem& problem, std::span<const std::byte> out,
                                const RowBlock& block) {
  const TensorStrides strides = out_strides(problem);
  const std::int64_t rows = block.row_end - block.row_begin;
  std::vector<double> values(static_cast<std::size_t>(rows * problem.Dv));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at =
        block.b * strides.batch + block.h * strides.head + (block.row_begin + i) * strides.row;
    load_elements(problem.dtype, out.data() + at * size_bytes(problem.dtype), problem.Dv,
                  values.data() + i * problem.Dv);
  }
  return values;
}

bool is_small(const BlockOutput& reference) {
  return static_cast<std::int64_t>(reference.out.size()) < k_small_block_elements;
}

/// What std makes of this block; of a small one, the largest error of all its forms.
Errors std_errors(const Problem& problem, const Inputs& inputs, const RowBlock& block,
                  const BlockOutput& reference) {
  Errors errors = errors_of(std_block(problem, inputs, block).out, reference.out);
  if (!is_small(reference)) return errors;
  for (const StdForm form : {StdForm::short_blocks, StdForm::normalized}) {
    const Errors other = errors_of(std_block(problem, inputs, block, form).out, reference.out);
    errors.max = std::max(errors.max, other.max);
    errors.mean = std::max(errors.mean, other.mean);
  }
  return errors;
}

/// A largest and a mean value over a block.
struct MaxMean {
  double max = 0, mean = 0;
};

/// max|ref| and mean|ref|; in a small block at least what v's distribution makes of the weights,
/// for a few outputs may all be near 0 by cancellation.
MaxMean magnitude_of(const BlockOutput& reference, const Errors& own) {
  MaxMean magnitude{own.max_magnitude, own.mean_magnitude};
  if (!is_small(reference)) return magnitude;
  for (const double norm : reference.weight_norm) {
    magnitude.max = std::max(magnitude.max, k_value_deviation * norm);
    magnitude.mean = std::max(magnitude.mean, k_value_deviation * norm);
  }
  return magnitude;
}

/// The budgets' term s. |LSE| stands for the size of the scores that count in a row.
MaxMean score_allowance(const Problem& problem, const BlockOutput& reference) {
  const double factor = k_score_rounding * std::sqrt(static_cast<double>(problem.D));
  MaxMean allowance;
  double sum = 0;
  for (std::size_t i = 0; i < reference.lse.size(); ++i) {
    if (!std::isfinite(reference.lse[i])) continue;
    const double row = factor * std::abs(reference.lse[i]) * reference.weight_norm[i];
    allowance.max = std::max(allowance.max, row);
    sum += row;
  }
  allowance.mean = sum / static_cast<double>(reference.lse.size());
  return allowance;
}

BudgetUse judge_block(const Problem& problem, const Inputs& inputs, std::span<const std::byte> out,
                      std::span<const float> lse, const RowBlock& block) {
  const BlockOutput reference = oracle_block(problem, inputs, block);
  const std::vector<double> values = output_rows(problem, out, block);
  const Errors error = errors_of(values, reference.out);
  const Errors allowed = std_errors(problem, inputs, block, reference);
  const Errors own = errors_of(reference.out, reference.out);
  const MaxMean magnitude = magnitude_of(reference, own);
  const double a = rounding_allowance(problem.dtype);
  const MaxMean of_scores = score_allowance(problem, reference);

  const auto worst = static_cast<std::size_t>(error.worst_index);
  BudgetUse max{.block = block, .rule = "max", .error = error.max};
  max.row = block.row_begin + error.worst_index / problem.Dv;
  max.column = error.worst_index % problem.Dv;
  max.got = values[worst];
  max.want = reference.out[worst];
  max.budget = k_max_error_factor * allowed.max + a * magnitude.max + of_scores.max;
  max.share = share_of(max.error, max.budget);
  BudgetUse mean{.block = block, .rule = "mean", .error = error.mean, .row = -1, .column = -1};
  mean.got = error.mean_magnitude;
  mean.want = own.mean_magnitude;
  mean.budget = k_mean_error_factor * allowed.mean + a * magnitude.mean + of_scores.mean;
  mean.share = share_of(mean.error, mean.budget);

  BudgetUse use;
  keep_worst(use, std::move(max));
  keep_worst(use, std::move(mean));
  for (std::int64_t row = block.row_begin; !lse.empty() && row < block.row_end; ++row) {
    const auto at = static_cast<std::size_t>((block.b * problem.Hq + block.h) * problem.Sq + row);
    keep_worst(use, judge_lse_row(block, row, static_cast<double>(lse[at]),
                                  reference.lse[static_cast<std::size_t>(row - block.row_begin)]));
  }
  return use;
}

std::int64_t count_non_finite(Dtype dtype, std::span<const std::byte> bytes) {
  std::int64_t count = 0;
  if (dtype == Dtype::f32) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::uint32_t bits;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      count += (bits & 0x7f800000u) == 0x7f800000u ? 1 : 0;
    }
    return count;
  }
  const std::uint16_t exponent = dtype == Dtype::f16 ? 0x7c00u : 0x7f80u;
  for (std::size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    count += (bits & exponent) == exponent ? 1 : 0;
  }
  return count;
}

std::int64_t count_bad_lse(std::span<const float> lse) {
  return std::count_if(lse.begin(), lse.end(), [](float value) {
    return !(value < std::numeric_limits<float>::infinity());  // NaN too; -inf may be right
  });
}

void scan_all(const Problem& problem, std::span<const std::byte> out, std::span<const float> lse,
              const JudgeOptions& options, OutputVerdict& verdict) {
  const std::size_t pieces = (out.size() + k_scan_bytes - 1) / k_scan_bytes;
  std::atomic<std::int64_t> non_finite{count_bad_lse(lse)};
  parallel_for(pieces, options.threads, [&](std::size_t piece) {
    const std::size_t begin = piece * k_scan_bytes;
    const auto part = out.subspan(begin, std::min(k_scan_bytes, out.size() - begin));
    non_finite += count_non_finite(problem.dtype, part);
  });
  verdict.non_finite = non_finite;
  if (options.poison) {
    verdict.unwritten += options.poison->survivors(out, size_bytes(problem.dtype));
  }
  if (options.lse_poison) {
    verdict.unwritten += options.lse_poison->survivors(std::as_bytes(lse), sizeof(float));
  }
}

std::string reason_of(const OutputVerdict& verdict) {
  if (verdict.unwritten > 0) {
    return fmt::format("{} elements were never written", verdict.unwritten);
  }
  if (verdict.non_finite > 0) {
    return fmt::format("{} elements are infinite or NaN", verdict.non_finite);
  }
  const BudgetUse& worst = verdict.worst;
  if (worst.share <= 1.0) return {};
  return fmt::format("{} error {:.3g} exceeds its budget {:.3g} at b={} h={} rows {} to {}",
                     worst.rule, worst.error, worst.budget, worst.block.b, worst.block.h,
                     worst.block.row_begin, worst.block.row_end - 1);
}

std::size_t blocks_to_judge(const Problem& problem, const JudgeOptions& options) {
  if (options.max_blocks) return *options.max_blocks;
  const double madds = work(problem).kept_pairs * static_cast<double>(problem.D + problem.Dv);
  return madds > k_full_oracle_max_madds ? k_sampled_blocks
                                         : std::numeric_limits<std::size_t>::max();
}

}  // namespace

double rounding_allowance(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 0x1p-19;
    case Dtype::f16:
      return 0x1p-11;
    case Dtype::bf16:
      return 0x1p-8;
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

OutputVerdict judge_output(const Problem& problem, const Inputs& inputs,
                           std::span<const std::byte> out, std::span<const float> lse,
                           const JudgeOptions& options) {
  const std::int64_t lse_count = problem.B * problem.Hq * problem.Sq;
  if (out.size() != out_bytes(problem) ||
      (!lse.empty() && static_cast<std::int64_t>(lse.size()) != lse_count)) {
    throw std::logic_error("judge_output: out or lse has another size than the problem says");
  }
  const std::span<const float> judged_lse = options.judge_lse ? lse : std::span<const float>();
  OutputVerdict verdict;
  scan_all(problem, out, judged_lse, options, verdict);

  const std::vector<RowBlock> blocks =
      sample_row_blocks(problem, blocks_to_judge(problem, options), options.sample_seed);
  std::vector<BudgetUse> uses(blocks.size());
  parallel_for(blocks.size(), options.threads, [&](std::size_t i) {
    uses[i] = judge_block(problem, inputs, out, judged_lse, blocks[i]);
  });
  for (BudgetUse& use : uses) keep_worst(verdict.worst, std::move(use));
  verdict.blocks_judged = static_cast<std::int64_t>(blocks.size());
  verdict.blocks_total = row_block_count(problem);
  verdict.reason = reason_of(verdict);
  verdict.pass = verdict.reason.empty() && verdict.blocks_judged > 0;
  if (verdict.blocks_judged == 0 && verdict.reason.empty()) verdict.reason = "no block was judged";
  return verdict;
}

}  // namespace wb
