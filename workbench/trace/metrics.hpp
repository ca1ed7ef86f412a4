// SPDX-License-Identifier: MIT
// The figures of `trace analyze`: from the tables of a category (ours or TraceLens') to
// sdpa_fwd_metrics.json. What a table does not say becomes null with a sentence, never a guess.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "trace/csv.hpp"
#include "trace/op_rows.hpp"

namespace wb::trace {

/// Thresholds of the analysis; docs/guide/trace.md gives their sources.
inline constexpr double k_bottleneck_ms = 100, k_bottleneck_percent = 5;
inline constexpr double k_low_efficiency_percent = 40;
inline constexpr double k_anomaly_percent = 110, k_above_peak_percent = 100;
inline constexpr double k_prefill_ratio = 0.8, k_decode_ratio = 0.2;

/// A folder's data on one category.
struct CategoryData {
  CsvTable ops;
  Json metadata;
  Json tree;  ///< null: none
};

/// The expected range of efficiency (percent) for an operation of this length and workload, and its
/// label.
struct EfficiencyBand {
  double low = 0, high = 0;
  std::string_view label;
};
EfficiencyBand expected_efficiency(Attention attention, std::string_view workload_type,
                                   std::int64_t n_q);
/// "prefill_heavy", "decode_heavy", "mixed"; "unknown" without tokens.
std::string_view workload_type(double context_tokens, double generation_tokens);
/// "reshape_cache", "paged_attention" (decode), "fwd_kernel" (prefill), "unified_attention" (both),
/// "reduce", "attention" (purpose not in its name) or "other".
std::string_view kernel_type(std::string_view kernel_name);

/// The metrics of a category: TraceLens' fields, and ours in addition. Errors: parse (a cell that
/// is no number or literal), invalid (a missing required column, which is named; metadata without
/// peaks).
Result<Json> metrics_of(const CategoryData& data, const CategoryFiles& category);

/// {"category", "status": "ERROR", "error"}.
Json error_metrics(const CategoryFiles& category, const Error& error);

}  // namespace wb::trace
