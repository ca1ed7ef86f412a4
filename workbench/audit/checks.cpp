// SPDX-License-Identifier: MIT
#include "audit/checks.hpp"

#include <array>

namespace wb::audit {

std::string_view to_string(Severity value) {
  return value == Severity::contradiction ? "contradiction"
         : value == Severity::doubtful    ? "doubtful"
                                          : "unknown";
}

std::span<const Check> all_checks() {
  static constexpr std::array<Check, 29> k_checks{{
      {"table_totals", "totals and means of rows and columns against their parts",
       check_table_totals},
      {"list_totals", "lists and brackets that end in a sum or a product", check_list_totals},
      {"repeated_figures", "the duration and the cost told several times; phases",
       check_repeated_figures},
      {"arithmetic", "arithmetic that is written out", check_arithmetic},
      {"changes", "\"from a -> b = c times\"", check_changes},
      {"projections", "steps of a cumulative speedup", check_projections},
      {"stages", "stages of a roadmap against the impact ranges of their steps", check_stages},
      {"ratio_columns", "ratios against the times of their row, a base row or the row before",
       check_ratio_columns},
      {"quantiles", "quantiles of one sample in order", check_quantiles},
      {"intervals", "factors with an interval against it and the times of their row",
       check_intervals},
      {"slowdown_claims", "ranges of slowdowns against the measured rows", check_slowdown_claims},
      {"throughput", "FLOP/s from shape and time", check_throughput},
      {"confounding", "rows named after one size whose work changes otherwise", check_confounding},
      {"peaks", "shares of a peak: whose it is", check_peaks},
      {"bandwidth", "shares of a bandwidth, and whether the GPU that ran is named",
       check_bandwidth},
      {"ridge", "thresholds of compute-bound against peak / bandwidth", check_ridge},
      {"scaling", "scaling columns, normalised by work", check_scaling},
      {"scaling_claims", "scaling in prose, normalised by work", check_scaling_claims},
      {"expected_columns", "expectations for the same shapes in two tables",
       check_expected_columns},
      {"references", "references that were not warmed up or are bound by their launch",
       check_references},
      {"geometry", "launches that no GPU takes", check_geometry},
      {"block_counts", "numbers of blocks from shape and tile", check_block_counts},
      {"caches", "what fits into which cache", check_caches},
      {"counts", "counts that disagree", check_counts},
      {"exactness", "bit-exact beside a difference; shares of a threshold", check_exactness},
      {"superlatives", "shortest, highest … against the table", check_superlatives},
      {"statements", "what is attributed to known algorithms", check_statements},
      {"advice", "advice whose premise cannot be seen", check_advice},
      {"principles", "findings about the attention of a profile: what they must tell",
       check_principles},
  }};
  return k_checks;
}

}  // namespace wb::audit
