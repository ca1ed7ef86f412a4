// SPDX-License-Identifier: MIT
#include "problem/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace wb::problem {
namespace {

constexpr double k_counting_scores = 1e30;
constexpr double k_infinite_share = std::numeric_limits<double>::infinity();

/// error / budget; infinite when the inequality does not certainly hold (NaN on either side).
double share_of(double error, double budget) {
  if (!(error <= budget)) {
    const double share = error / budget;
    return share > 1.0 ? share : k_infinite_share;
  }
  if (!(budget < k_infinite_share))
    return k_infinite_share;  // a budget without a limit decides nothing
  return error == 0 ? 0.0 : error / budget;
}

/// Keeps the worse of two; the first one on a tie, so that the result is reproducible.
void keep_worst(BudgetUse& worst, BudgetUse candidate) {
  if (worst.rule.empty() || candidate.share > worst.share) worst = std::move(candidate);
}

BudgetUse judge_lse_row(const RowBlock& block, std::int64_t row, double got, double want,
                        double score_deviation) {
  BudgetUse use{block, "lse", 0, 0, 0, row, -1, got, want};
  use.budget =
      std::isinf(want) ? 0.0 : k_lse_tolerance * std::max({1.0, std::abs(want), score_deviation});
  use.error = got == want ? 0.0 : std::abs(got - want);  // -inf matches -inf only
  if (std::isnan(use.error)) use.error = k_infinite_share;
  use.share = share_of(use.error, use.budget);
  return use;
}

/// Largest and mean value of a block.
struct MaxMean {
  double max = 0, mean = 0;
};

/// max|ref| and mean|ref|; in a small block at least the expected magnitude from the weights and
/// v's distribution, since a few outputs may all be near 0 by cancellation.
MaxMean magnitude_of(const BlockStatistics& statistics, bool is_small) {
  MaxMean magnitude{statistics.max_ref, statistics.mean_ref};
  if (!is_small) return magnitude;
  for (const double norm : statistics.weight_norm) {
    magnitude.max = std::max(magnitude.max, k_value_deviation * norm);
    magnitude.mean = std::max(magnitude.mean, k_value_deviation * norm);
  }
  return magnitude;
}

/// The budget term s. |LSE| represents the size of the row's relevant scores.
MaxMean score_allowance(const Problem& problem, const BlockStatistics& statistics) {
  const double factor =
      statistics.score_terms * k_score_rounding * std::sqrt(static_cast<double>(problem.D));
  MaxMean allowance;
  double sum = 0;
  for (std::size_t i = 0; i < statistics.ref_lse.size(); ++i) {
    // Scores at the mask's least finite value are irrelevant, and so is their rounding.
    if (!(std::abs(statistics.ref_lse[i]) < k_counting_scores)) continue;
    const double row = factor * std::abs(statistics.ref_lse[i]) * statistics.weight_norm[i];
    allowance.max = std::max(allowance.max, row);
    sum += row;
  }
  allowance.mean = sum / static_cast<double>(statistics.ref_lse.size());
  return allowance;
}

std::string reason_of(const OutputVerdict& verdict) {
  if (verdict.unwritten > 0) {
    return fmt::format("{} elements were never written", verdict.unwritten);
  }
  if (verdict.non_finite > 0) {
    return fmt::format("{} elements are infinite or NaN", verdict.non_finite);
  }
  if (verdict.blocks_judged == 0) return "no block was judged";
  const BudgetUse& worst = verdict.worst;
  if (worst.share <= 1.0) return {};
  return fmt::format("{} error {:.3g} exceeds its budget {:.3g} at b={} h={} rows {} to {}",
                     worst.rule, worst.error, worst.budget, worst.block.b, worst.block.h,
                     worst.block.row_begin, worst.block.row_end - 1);
}

}  // namespace

bool is_small_block(const Problem& problem, const RowBlock& block) {
  return (block.row_end - block.row_begin) * problem.Dv < k_small_block_elements;
}

void take_larger(ErrorStatistics& errors, const ErrorStatistics& other) {
  errors.max = std::max(errors.max, other.max);
  errors.mean = std::max(errors.mean, other.mean);
}

BudgetUse judge_statistics(const Problem& problem, const RowBlock& block,
                           const BlockStatistics& statistics) {
  const ErrorStatistics& error = statistics.out;
  const MaxMean magnitude = magnitude_of(statistics, is_small_block(problem, block));
  const auto keys = static_cast<double>(problem.Skv);
  const double a =
      rounding_allowance(problem.dtype) + k_sum_rounding * std::sqrt(keys) + k_lost_weight * keys;
  const MaxMean of_scores = score_allowance(problem, statistics);

  BudgetUse max{.block = block, .rule = "max", .error = error.max};
  max.row = block.row_begin + error.worst_index / problem.Dv;
  max.column = error.worst_index % problem.Dv;
  max.got = statistics.got;
  max.want = statistics.want;
  max.budget = k_max_error_factor * statistics.of_std.max + a * magnitude.max + of_scores.max;
  max.share = share_of(max.error, max.budget);
  BudgetUse mean{.block = block, .rule = "mean", .error = error.mean, .row = -1, .column = -1};
  mean.got = error.mean_magnitude;
  mean.want = statistics.mean_ref;
  mean.budget = k_mean_error_factor * statistics.of_std.mean + a * magnitude.mean + of_scores.mean;
  mean.share = share_of(mean.error, mean.budget);

  BudgetUse use;
  keep_worst(use, std::move(max));
  keep_worst(use, std::move(mean));
  for (std::size_t i = 0; i < statistics.got_lse.size(); ++i) {
    keep_worst(use, judge_lse_row(block, block.row_begin + static_cast<std::int64_t>(i),
                                  static_cast<double>(statistics.got_lse[i]), statistics.ref_lse[i],
                                  statistics.score_deviation));
  }
  return use;
}

std::int64_t count_bad_lse(std::span<const float> lse) {
  return std::count_if(lse.begin(), lse.end(), [](float value) {
    return !(value < std::numeric_limits<float>::infinity());  // NaN too; -inf may be right
  });
}

OutputVerdict conclude(const Problem& problem, std::span<const BudgetUse> uses,
                       const OutputScan& scan) {
  OutputVerdict verdict;
  verdict.non_finite = scan.non_finite;
  verdict.unwritten = scan.unwritten;
  for (const BudgetUse& use : uses) keep_worst(verdict.worst, use);
  verdict.blocks_judged = static_cast<std::int64_t>(uses.size());
  verdict.blocks_total = row_block_count(problem);
  verdict.reason = reason_of(verdict);
  verdict.pass = verdict.reason.empty();
  return verdict;
}

}  // namespace wb::problem
