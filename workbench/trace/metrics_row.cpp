// SPDX-License-Identifier: MIT
#include "trace/metrics_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "trace/platforms.hpp"

namespace wb::trace {
namespace {

constexpr double k_gflop_per_us_to_tera = 1e3;
constexpr double k_max_integer = 9e15;  // a double holds each up to there

Json rounded_or_null(std::optional<double> value, int digits) {
  return value ? Json(rounded(*value, digits)) : Json();
}

bool contains_any(std::string text, std::initializer_list<std::string_view> parts) {
  std::transform(text.begin(), text.end(), text.begin(), ascii::lower);
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

Error bad_cell(std::size_t row, std::string_view column, std::string_view text, std::string why) {
  return Error{ErrorCode::parse,
               "read the operations",
               fmt::format("row {}, column \"{}\"", row + 1, column),
               fmt::format("\"{}\" {}", printable(text, 60), why),
               {}};
}

Result<Json> literal(const CsvTable& table, std::size_t row, std::string_view column) {
  const std::string& text = table.cell(row, column);
  if (text.empty() || text == "nan" || text == "NaN") return Json();
  auto value = parse_python_literal(text);
  if (!value) return bad_cell(row, column, text, "is no Python literal: " + value.error().cause);
  return value;
}

Result<double> must_be_number(const CsvTable& table, std::size_t row, std::string_view column) {
  const auto value = cell_number(table.cell(row, column));
  if (value && *value >= 0 && *value < k_max_integer) return *value;
  return bad_cell(row, column, table.cell(row, column), "is no number from 0 on");
}

/// The number in a cell; nothing if it is empty, nan or inf (a rate over no time).
Result<std::optional<double>> may_be_number(const CsvTable& table, std::size_t row,
                                            std::string_view column) {
  const std::string& text = table.cell(row, column);
  const auto value = cell_number(text);
  if (value && *value >= 0) return value;
  const bool unknown = text.empty() || contains_any(text, {"nan", "inf"}) || text == "None";
  if (!value && unknown) return std::optional<double>();
  return bad_cell(row, column, text, "is no number from 0 on");
}

/// The profiler's figures for one call; null if the table has none.
Json per_call_of(const CsvTable& table, std::size_t row) {
  Json times = Json::object();
  for (const auto& [key, column] : {std::pair{"mean_us", "Kernel Time (µs)_mean"},
                                    {"median_us", "Kernel Time (µs)_median"},
                                    {"min_us", "Kernel Time (µs)_min"},
                                    {"max_us", "Kernel Time (µs)_max"},
                                    {"std_us", "Kernel Time (µs)_std"},
                                    {"host_mean_us", "mean_duration_us"}}) {
    const auto value = cell_number(table.cell(row, column));
    times[key] = value && *value >= 0 && *value < k_max_integer ? Json(*value) : Json();
  }
  return times;
}

/// The precision whose peak applies: the table's, else that of the first tensor.
std::string spec_of(const MetricsRow& row) {
  if (!row.compute_spec.empty()) return row.compute_spec;
  const bool typed = row.types.is_array() && !row.types.empty() && row.types[0].is_string();
  const std::string dtype = typed ? dtype_word(row.types[0].get<std::string>()) : std::string();
  return dtype.empty() ? std::string() : "matrix_" + dtype;
}

}  // namespace

double rounded(double value, int digits) {
  const double factor = std::pow(10.0, digits);
  return std::round(value * factor) / factor;
}

bool has_number(const Json& object, const char* key) {
  return member_of(object, key).is_number();
}

std::int64_t integer_member(const Json& object, const char* key) {
  const double value = real_member(object, key);
  return value > -k_max_integer && value < k_max_integer ? static_cast<std::int64_t>(value) : 0;
}

double real_member(const Json& object, const char* key) {
  const Json& value = member_of(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

std::string string_member(const Json& object, const char* key) {
  return wb::text_of(object, key);
}

Result<MetricsRow> read_metrics_row(const CsvTable& table, std::size_t i) {
  MetricsRow row;
  row.name = table.cell(i, "name");
  row.dims = table.cell(i, "Input Dims");
  row.compute_spec = table.cell(i, "Compute Spec");
  if (row.compute_spec == "nan") row.compute_spec.clear();
  WB_TRY_ASSIGN(const double count, must_be_number(table, i, "operation_count"));
  WB_TRY_ASSIGN(row.time_us, must_be_number(table, i, "Kernel Time (µs)_sum"));
  if (count < 1 || count != std::floor(count)) {
    return bad_cell(i, "operation_count", table.cell(i, "operation_count"),
                    "is no whole number from 1 on");
  }
  row.count = static_cast<std::int64_t>(count);
  WB_TRY_ASSIGN(row.tflops, may_be_number(table, i, "TFLOPS/s_mean"));
  WB_TRY_ASSIGN(row.tb_per_s, may_be_number(table, i, "TB/s_mean"));
  WB_TRY_ASSIGN(row.flops_per_byte, may_be_number(table, i, "FLOPS/Byte"));
  WB_TRY_ASSIGN(row.gflop_each, may_be_number(table, i, "GFLOPS"));
  WB_TRY_ASSIGN(row.params, literal(table, i, "perf_params"));
  WB_TRY_ASSIGN(row.kernels, literal(table, i, "kernel_details_summary"));
  WB_TRY_ASSIGN(row.types, literal(table, i, "Input type"));
  row.params_text = table.cell(i, "perf_params");
  row.kernels_text = table.cell(i, "kernel_details_summary");
  row.per_call = per_call_of(table, i);
  const std::string& model = table.cell(i, "has_perf_model");
  row.has_model = model == "True" || model == "true" || (model.empty() && row.gflop_each);
  if (!row.params.is_object()) row.params = Json::object();
  if (!row.kernels.is_array()) row.kernels = Json::array();
  return row;
}

bool is_kv_cache_update(const MetricsRow& row) {
  return writes_kv_cache(row.name) || contains_any(row.name, {"reshape_and_cache"});
}

Attention attention_of(const MetricsRow& row) {
  if (is_kv_cache_update(row)) return Attention::paged;
  const auto rule = library_rule(row.name);
  bool paged = (rule && rule->attention == Attention::paged) ||
               contains_any(row.name, {"unified_attention", "paged_attention", "vllm::"});
  for (const Json& kernel : row.kernels) {
    const std::string name = string_member(kernel, "name");
    paged = paged || contains_any(name, {"kernel_paged_attention", "paged_attention_2d"});
  }
  if (paged) return Attention::paged;
  if (rule) return rule->attention;
  const bool flash = contains_any(row.name, {"flash", "fmha", "cudnn_attention",
                                             "efficient_attention", "fused_attention"}) &&
                     row.name != "unfused_attention";
  return flash ? Attention::flash : Attention::standard;
}

Result<Peaks> peaks_of(const Json& metadata) {
  Peaks peaks;
  const Json rates = metadata.value("max_achievable_tflops", Json());
  if (rates.is_object()) {
    for (const auto& [key, rate] : rates.items()) {
      if (rate.is_number()) peaks.tflops[key] = rate.get<double>();
    }
  } else if (metadata.value("peak_bf16_maf_tflops", Json()).is_number()) {
    peaks.tflops["matrix_bf16"] = metadata["peak_bf16_maf_tflops"].get<double>();
  }
  if (metadata.value("peak_hbm_bw_tbs", Json()).is_number()) {
    peaks.tb_per_s = metadata["peak_hbm_bw_tbs"].get<double>();
  }
  if (!peaks.tflops.empty()) return peaks;
  return Error{ErrorCode::invalid, "read the metadata", "", "max_achievable_tflops is missing",
               "prepare the trace with --platform"};
}

namespace {

/// The largest share of the peak (percent) that the recorded sizes allow: all products, as if the
/// causal rule hid none. Nothing where a size is missing, or where something else than the rule is.
std::optional<double> most_percent(const MetricsRow& row, double peak_tflops) {
  const Json& causal = member_of(row.params, "causal");
  const bool is_open = row.params.contains("causal") && (causal.is_null() || causal == Json(true));
  if (!is_open || row.tflops || row.params.value("lengths_known", Json(true)) != Json(true)) {
    return std::nullopt;
  }
  double flops = 2;
  for (const char* size : {"B", "H_Q", "N_Q", "N_KV"}) flops *= real_member(row.params, size);
  const double d_qk = real_member(row.params, "d_h_qk"), d_v = real_member(row.params, "d_h_v");
  flops *= d_qk + (d_v > 0 ? d_v : d_qk);
  if (!(flops > 0) || !(d_qk > 0) || !(row.time_us > 0)) return std::nullopt;
  const double tflops = flops * static_cast<double>(row.count) / row.time_us / 1e6;
  return rounded(100 * tflops / peak_tflops, 2);
}

}  // namespace

Json efficiency_json(const MetricsRow& row, const Peaks& peaks, bool is_forward) {
  const std::string spec = spec_of(row);
  const std::size_t cut = spec.find('_');
  std::optional<std::pair<std::string, double>> peak;
  if (const auto own = peaks.tflops.find(spec); own != peaks.tflops.end()) {
    peak = *own;
  } else if (cut != std::string::npos) {
    peak = peak_for(peaks.tflops, spec.substr(cut + 1));
  }
  const bool compute = peak && peak->second > 0 && row.tflops;
  const bool memory = peaks.tb_per_s && *peaks.tb_per_s > 0 && row.tb_per_s;
  Json e{{"tflops_achieved", rounded_or_null(row.tflops, 2)},
         {"tb_s_achieved", rounded_or_null(row.tb_per_s, 2)},
         {"flops_per_byte", rounded_or_null(row.flops_per_byte, 2)},
         {"compute_spec", row.compute_spec.empty() ? Json() : Json(row.compute_spec)},
         {"efficiency_percent", nullptr},
         {"most_efficiency_percent", nullptr},
         {"efficiency_label", nullptr},
         {"bound_type", nullptr},
         {"resolved_peak_maf", peak ? Json(peak->second) : Json()},
         {"resolved_peak_spec", peak ? Json(peak->first) : Json()},
         {"warning", nullptr},
         {"is_anomaly", false},
         {"why_unknown", nullptr}};
  // The work of all calls over their total time, so that slow calls have more weight.
  if (row.gflop_each && row.time_us > 0) {
    const double calls = static_cast<double>(row.count);
    e["tflops_of_total_time"] =
        rounded(*row.gflop_each * calls / row.time_us * k_gflop_per_us_to_tera, 2);
  }
  if (memory) e["bandwidth_percent"] = rounded(100 * *row.tb_per_s / *peaks.tb_per_s, 2);
  // Below the ridge point the memory is the bound.
  if (compute && memory && row.flops_per_byte) {
    e["bound_type"] = *row.flops_per_byte < peak->second / *peaks.tb_per_s ? "memory" : "compute";
  } else if (compute) {
    e["bound_type"] = "compute";
  }
  const auto most =
      is_forward && peak && peak->second > 0 ? most_percent(row, peak->second) : std::nullopt;
  if (most) {
    e["most_efficiency_percent"] = *most;
    e["efficiency_label"] =
        fmt::format("at most {:.2f}% of the peak of {}", *most, printable(peak->first, 60));
    e["why_unknown"] = fmt::format(
        "the causal rule is not recorded whole; without one it is at most {:.2f} % of peak", *most);
    return e;
  }
  if (!compute) {
    e["why_unknown"] =
        !row.tflops && row.gflop_each && !(row.time_us > 0) ? "no rate: its kernels took no time"
        : !row.tflops  ? "no rate: there is no model of its work"
        : spec.empty() ? "the precision is not recorded"
                       : "the platform's peak for " + printable(spec, 60) + " is not known";
    return e;
  }
  const double percent = rounded(100 * *row.tflops / peak->second, 2);
  e["efficiency_percent"] = percent;
  e["efficiency_label"] = fmt::format("{:.2f}% of the peak of {} ({:.2f} of {:g} TFLOPS)", percent,
                                      printable(peak->first, 60), *row.tflops, peak->second);
  if (percent > k_anomaly_percent) {
    e["is_anomaly"] = true;
    e["warning"] = fmt::format(
        "[ANOMALY] {:.2f}% of peak cannot be: the model, the peak or the "
        "time is wrong",
        percent);
  } else if (percent > k_above_peak_percent) {
    e["warning"] = fmt::format("[WARNING] {:.2f}% of peak is above what is achievable", percent);
  }
  return e;
}

}  // namespace wb::trace
