// SPDX-License-Identifier: MIT
// Private to trace: one row of an operations table as typed values, and its efficiency. metrics.cpp
// combines the rows.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>

#include "core/json.hpp"
#include "trace/metrics.hpp"

namespace wb::trace {

/// Absent literals are null, or empty lists and objects.
struct MetricsRow {
  std::string name, dims, compute_spec;
  std::int64_t count = 0;
  double time_us = 0;
  std::optional<double> tflops, tb_per_s, flops_per_byte, gflop_each;
  Json params, kernels, types;
  Json per_call;  ///< GPU time per call: mean_us, median_us …; host_mean_us of its operator
  bool has_model = false;
  std::string params_text, kernels_text;
};
/// Errors: parse (names the row and the column).
Result<MetricsRow> read_metrics_row(const CsvTable& table, std::size_t row);

struct Peaks {
  std::map<std::string, double> tflops;
  std::optional<double> tb_per_s;
};
/// Errors: invalid (no peaks).
Result<Peaks> peaks_of(const Json& metadata);

/// `is_forward`: the row is of one forward attention, whose sizes bound its work from above where a
/// causal rule is not recorded whole (`most_efficiency_percent`).
Json efficiency_json(const MetricsRow& row, const Peaks& peaks, bool is_forward);
/// By the operator's name, and for a paged one also by its kernels.
Attention attention_of(const MetricsRow& row);
bool is_kv_cache_update(const MetricsRow& row);

double rounded(double value, int digits);
bool has_number(const Json& object, const char* key);
std::int64_t integer_member(const Json& object, const char* key);  ///< 0 when it is no number
double real_member(const Json& object, const char* key);           ///< 0 when it is no number
std::string string_member(const Json& object, const char* key);    ///< empty when it is no string

}  // namespace wb::trace
