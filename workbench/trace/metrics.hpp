// SPDX-License-Identifier: MIT
// `trace analyze`, the figures: from the tables of a category (ours or TraceLens') to
// sdpa_fwd_metrics.json. What a table does not say becomes null and a sentence, never a guess.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "trace/csv.hpp"
#include "trace/op_rows.hpp"

namespace wb::trace {

/// Rules of the analysis (docs/guide/trace.md says where each comes from).
inline constexpr double k_bottleneck_ms = 100, k_bottleneck_percent = 5;
inline constexpr double k_low_efficiency_percent = 40;
inline constexpr double k_anomaly_percent = 110, k_above_peak_percent = 100;
inline constexpr double k_prefill_ratio = 0.8, k_decode_ratio = 0.2;

/// What a folder holds of one category.
struct CategoryData {
  CsvTable ops;
  Json metadata;
  Json tree;  ///< null: there is none
};

/// What the efficiency of an operation of this length and workload should be at least and at most
/// (percent), and the words of the band.
struct EfficiencyBand {
  double low = 0, high = 0;
  std::string_view label;
};
EfficiencyBand expected_efficiency(Attention attention, std::string_view workload_type,
                                   std::int64_t n_q);
/// "prefill_heavy", "decode_heavy", "mixed"; "unknown" without tokens.
std::string_view workload_type(double context_tokens, double generation_tokens);
/// "reshape_cache", "paged_attention" (decode), "fwd_kernel" (prefill), "unified_attention" (both),
/// "reduce", "attention" (its name does not tell what for) or "other".
std::string_view kernel_type(std::string_view kernel_name);

/// The metrics of a category: fields as TraceLens writes them, and ours beside them.
/// Errors: parse (a cell that is no number or literal), invalid (a column that must be there is
/// missing: it is named; metadata without peaks).
Result<Json> metrics_of(const CategoryData& data, const CategoryFiles& category);

/// {"category", "status": "ERROR", "error"}.
Json error_metrics(const CategoryFiles& category, const Error& error);

}  // namespace wb::trace
