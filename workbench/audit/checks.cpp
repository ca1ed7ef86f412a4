// SPDX-License-Identifier: MIT
#include "audit/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wb::audit {
namespace {

// One term with its spellings; a writer of "flash attention" uses only one of them.
using Term = std::array<std::string_view, 4>;
constexpr std::array<Term, 17> k_terms{{
    {"kernel", "kernels"},
    {"gpu", "gpus"},
    {"cuda"},
    {"rocm"},
    {"attention", "flashattention"},
    {"sdpa"},
    {"cudnn"},
    {"cublas"},
    {"cutlass"},
    {"triton"},
    {"warp", "warps"},
    {"thread block", "thread blocks"},
    {"occupancy"},
    {"shared memory", "smem"},
    {"tflop/s", "tflops", "tflops/s"},
    {"tensor core", "tensor cores"},
    {"hbm"},
}};
constexpr std::size_t k_terms_of_a_report = 3;

bool names(const Document& document, const Term& term) {
  return std::any_of(document.lines.begin(), document.lines.end(), [&](const Line& line) {
    return std::any_of(term.begin(), term.end(), [&](std::string_view word) {
      return !word.empty() && has_word(line.lower, word);
    });
  });
}

}  // namespace

bool is_about_kernels(const Document& document) {
  std::size_t named = 0;
  for (const Term& term : k_terms) {
    if (names(document, term) && ++named == k_terms_of_a_report) return true;
  }
  return false;
}

void hold_to_basis(const Check& check, bool about_kernels, std::span<Finding> findings) {
  const bool may_contradict =
      check.basis == Basis::figures || (check.basis == Basis::kernel_figures && about_kernels);
  if (may_contradict) return;
  const std::string_view why = check.basis == Basis::words
                                   ? "doubtful at most"
                                   : "the report is not about kernels on a device";
  for (Finding& finding : findings) {
    if (finding.severity != Severity::contradiction) continue;
    finding.severity = Severity::doubtful;
    finding.meaning +=
        fmt::format("{}{}: {}", finding.meaning.empty() ? "" : "; ", why, check.reading);
  }
}

std::span<const Check> all_checks() {
  using enum Basis;
  static constexpr std::array<Check, 33> k_checks{{
      {"table_totals", figures, "totals and means of rows and columns against their parts",
       check_table_totals},
      {"list_totals", kernel_figures, "brackets that end in a sum", check_bracket_totals,
       "a figure may be of more than its bracket"},
      {"list_totals", words, "lists that end in a sum or a product", check_list_totals,
       "a total may be of more than its list"},
      {"repeated_figures", words, "the duration and the cost told several times; phases",
       check_repeated_figures, "a duration or a cost may be of several things"},
      {"arithmetic", figures, "arithmetic that is written out", check_arithmetic},
      {"arithmetic", words, "an intensity against the FLOPs and bytes above it", check_intensities,
       "the figures above it may be of another kernel"},
      {"changes", words, "\"from a -> b = c times\"", check_changes,
       "a factor may be of another figure than the two beside it"},
      {"projections", figures, "steps of a cumulative speedup", check_projections},
      {"stages", words, "stages of a roadmap against the impact ranges of their steps",
       check_stages, "a stage may hold more than the steps of the other table"},
      {"ratio_columns", figures,
       "ratios against the times of their row, a base row or the row before", check_ratio_columns},
      {"quantiles", figures, "quantiles of one sample in order", check_quantiles},
      {"intervals", figures, "factors with an interval against it and the times of their row",
       check_intervals},
      {"slowdown_claims", words, "ranges of slowdowns against the measured rows",
       check_slowdown_claims, "a range may be of other rows"},
      {"throughput", kernel_figures, "FLOP/s from shape and time", check_throughput,
       "rates may count other work than that of attention"},
      {"throughput", words, "FLOP/s from the FLOPs told below", check_listed_rates,
       "the FLOPs below may be of another kernel"},
      {"confounding", words, "rows named after one size whose work changes otherwise",
       check_confounding, "rates may count other work than that of attention"},
      {"peaks", words, "shares of a peak: whose it is", check_peaks,
       "a rate may be of several GPUs, or of another format"},
      {"peaks", figures, "rates in a column of kernels above every peak of the only GPU",
       check_peak_columns},
      {"bandwidth", words, "shares of a bandwidth, and whether the GPU that ran is named",
       check_bandwidth, "a peak may be the rate that was reached"},
      {"ridge", words, "thresholds of compute-bound against peak / bandwidth", check_ridge,
       "a threshold may be of another format"},
      {"scaling", words, "scaling columns, normalised by work", check_scaling,
       "\"linear\" may be told of another size"},
      {"scaling_claims", words, "scaling in prose, normalised by work", check_scaling_claims,
       "work may be counted by another size"},
      {"expected_columns", words, "expectations for the same shapes in two tables",
       check_expected_columns, "two tables may expect of two kernels"},
      {"references", words, "references that were not warmed up or are bound by their launch",
       check_references, "a reference may run other code for another shape"},
      {"geometry", words, "launches that no GPU takes", check_geometry,
       "a launch may be told as one that fails, and a grid may be none"},
      {"block_counts", words, "numbers of blocks from shape and tile", check_block_counts,
       "blocks may be of another launch"},
      {"caches", words, "what fits into which cache", check_caches,
       "a working set may be of all blocks, and a cache shared"},
      {"counts", words, "counts that disagree", check_counts, "one noun may count several sets"},
      {"exactness", words, "bit-exact beside a difference; shares of a threshold", check_exactness,
       "the two may be of different outputs"},
      {"superlatives", words, "shortest, highest … against the table", check_superlatives,
       "what is best may be judged by other figures"},
      {"statements", words, "what is attributed to known algorithms", check_statements,
       "a name may stand for a variant of the algorithm"},
      {"advice", words, "advice whose premise cannot be seen", check_advice,
       "the code may have it elsewhere than where it is advised"},
      {"principles", words, "findings about the attention of a profile: what they must tell",
       check_principles, "a word may be meant otherwise than the analysis defines it"},
  }};
  return k_checks;
}

}  // namespace wb::audit
