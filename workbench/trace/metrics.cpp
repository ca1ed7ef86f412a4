// SPDX-License-Identifier: MIT
#include "trace/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "trace/metrics_row.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

/// The attention kernel of a paged operation if no kernel is named like attention: the longest one.
/// Its role is unknown.
std::size_t unnamed_attention(const Json& kernels) {
  std::size_t longest = kernels.size();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string_view type = kernel_type(string_member(kernels[i], "name"));
    if (type != "other" && type != "reshape_cache") return kernels.size();
    if (type != "other") continue;
    const bool longer =
        longest == kernels.size() || real_member(kernels[i], "total_duration_us") >
                                         real_member(kernels[longest], "total_duration_us");
    if (longer) longest = i;
  }
  return longest;
}

/// Shares of the total time, so that a kernel that runs twice per call counts twice.
Json kernel_breakdown(const Json& kernels, bool cache) {
  const std::size_t unnamed = cache ? kernels.size() : unnamed_attention(kernels);
  double sum = 0;
  bool all_known = true;
  for (const Json& kernel : kernels) {
    sum += real_member(kernel, "total_duration_us");
    all_known = all_known && has_number(kernel, "total_duration_us");
  }
  if (!all_known) sum = 0;  // no share is known in this case
  Json list = Json::array();
  const auto has = [&](std::string_view type) {
    return std::any_of(kernels.begin(), kernels.end(), [&](const Json& kernel) {
      return kernel.is_object() && kernel_type(string_member(kernel, "name")) == type;
    });
  };
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Json& kernel = kernels[i];
    if (!kernel.is_object()) continue;
    const std::string name = string_member(kernel, "name");
    list.push_back(
        {{"name", name},
         {"mean_us", kernel.value("mean_duration_us", Json())},
         {"total_us", kernel.value("total_duration_us", Json())},
         {"kernel_type", i == unnamed ? "attention" : kernel_type(name)},
         {"percent", sum > 0
                         ? Json(rounded(100 * real_member(kernel, "total_duration_us") / sum, 2))
                         : Json()}});
  }
  return {{"has_paged_attention_kernel", has("paged_attention")},
          {"has_unified_attention_kernel", has("unified_attention")},
          {"has_fwd_kernel", has("fwd_kernel")},
          {"has_reshape_cache", has("reshape_cache")},
          {"kernels", std::move(list)}};
}

/// The tokens of context and of generation, under the old or the new names.
std::pair<double, double> tokens_of(const Json& params) {
  const double ctx = params.contains("sum_ctx_tokens") ? real_member(params, "sum_ctx_tokens")
                                                       : real_member(params, "c_sq");
  const double gen = params.contains("sum_gen_tokens") ? real_member(params, "sum_gen_tokens")
                                                       : real_member(params, "g_sq");
  return {ctx, gen};
}

Json ratio_of(double ctx, double gen) {
  return ctx + gen > 0 ? Json(rounded(ctx / (ctx + gen), 4)) : Json();
}

Json workload_profile(const MetricsRow& row) {
  const auto [ctx, gen] = tokens_of(row.params);
  const std::int64_t h_q = integer_member(row.params, "H_Q"),
                     h_kv = integer_member(row.params, "H_KV");
  const bool known = h_q > 0 && h_kv > 0 && h_kv <= h_q;
  const bool gqa = known && h_kv < h_q;
  return {{"n_q", integer_member(row.params, "N_Q")},
          {"n_kv", integer_member(row.params, "N_KV")},
          {"h_q", h_q},
          {"h_kv", h_kv},
          {"sum_ctx_tokens", static_cast<std::int64_t>(ctx)},
          {"sum_gen_tokens", static_cast<std::int64_t>(gen)},
          {"ctx_ratio", ratio_of(ctx, gen)},
          {"workload_type", workload_type(ctx, gen)},
          {"attention_pattern", !known ? "unknown"
                                : gqa  ? "GQA"
                                       : "MHA"},
          {"gqa_ratio", gqa ? Json(h_q / h_kv) : Json()}};
}

/// How the operation stands beside its band, in words.
std::string verdict_of(const Json& operation) {
  const Json& efficiency = operation["efficiency"]["efficiency_percent"];
  const Json band = operation.value("expected_efficiency", Json());
  std::string verdict = "not known";
  if (operation["below_expected"] == Json(true)) {
    verdict = "below its band";
  } else if (efficiency.is_number() && band.is_object()) {
    const bool is_above = efficiency.get<double>() > band["high_percent"].get<double>();
    verdict = is_above ? "above its band" : "within its band";
  } else if (efficiency.is_number()) {
    verdict = "has no band";
  }
  if (!operation["is_bottleneck"].get<bool>()) return verdict;
  return verdict == "not known" ? std::string("a bottleneck") : verdict + ", a bottleneck";
}

Json operation_json(const MetricsRow& row, const Peaks& peaks, double all_us, bool backward) {
  const Attention attention = attention_of(row);
  const bool cache = is_kv_cache_update(row);
  Json classification{{"is_flash_attention", attention == Attention::flash},
                      {"is_paged_attention", attention == Attention::paged},
                      {"is_kv_cache_update", cache},
                      {"has_perf_model", row.has_model},
                      {"attention_type", cache ? "kv_cache" : std::string(to_string(attention))},
                      {"workload_profile", workload_profile(row)}};
  if (attention == Attention::paged) {
    classification["kernel_breakdown"] = kernel_breakdown(row.kernels, cache);
  }
  const double percent = all_us > 0 ? 100 * row.time_us / all_us : 0;
  Json operation{
      {"name", row.name},
      {"count", row.count},
      {"time_ms", rounded(row.time_us / k_us_per_ms, 3)},
      {"percent_of_category", rounded(percent, 2)},
      {"efficiency",
       efficiency_json(row, peaks, !backward && !cache && attention != Attention::paged)},
      {"per_call", row.per_call},
      {"Input Dims", row.dims},
      {"has_perf_model", row.has_model},
      {"perf_params", row.params_text},
      {"perf_params_parsed", row.params},
      {"kernel_details_summary", row.kernels_text},
      {"kernel_details_parsed", row.kernels},
      {"classification", std::move(classification)}};
  const Json& profile = operation["classification"]["workload_profile"];
  const std::int64_t n_q = profile["n_q"].get<std::int64_t>();
  // For paged attention the expected efficiency depends on the workload.
  const bool judged = attention != Attention::paged || profile["workload_type"] != Json("unknown");
  const bool banded = !backward && !cache && n_q > 0 && judged;
  if (banded) {
    const EfficiencyBand band =
        expected_efficiency(attention, profile["workload_type"].get<std::string>(), n_q);
    operation["expected_efficiency"] = {
        {"low_percent", band.low}, {"high_percent", band.high}, {"label", band.label}};
  }
  // A bound from above serves where it is below what is asked for.
  const bool is_bound = operation["efficiency"]["efficiency_percent"].is_null();
  const Json efficiency =
      operation["efficiency"][is_bound ? "most_efficiency_percent" : "efficiency_percent"];
  const bool large = row.time_us / k_us_per_ms > k_bottleneck_ms || percent > k_bottleneck_percent;
  operation["is_large"] = large;
  operation["is_bottleneck"] = large && !cache && efficiency.is_number() &&
                               efficiency.get<double>() < k_low_efficiency_percent;
  const double low = banded ? operation["expected_efficiency"]["low_percent"].get<double>() : 0;
  const bool is_below = banded && efficiency.is_number() && efficiency.get<double>() < low;
  operation["below_expected"] =
      banded && efficiency.is_number() && (is_below || !is_bound) ? Json(is_below) : Json();
  operation["verdict"] = verdict_of(operation);
  return operation;
}

/// The shares of paged kernels in the time of paged attention and of filling its cache, inside the
/// operator or beside it.
Json breakdown_average(const Json& operations) {
  std::map<std::string, double> by_type;
  double sum = 0;
  for (const Json& operation : operations) {
    if (!operation["classification"]["is_paged_attention"].get<bool>()) continue;
    for (const Json& kernel : operation["classification"]["kernel_breakdown"]["kernels"]) {
      if (!kernel["total_us"].is_number()) return {};
      const double total = kernel["total_us"].get<double>();
      by_type[kernel["kernel_type"].get<std::string>()] += total;
      sum += total;
    }
  }
  if (!(sum > 0)) return {};
  const auto percent = [&](const char* type) { return rounded(100 * by_type[type] / sum, 2); };
  return {{"avg_reshape_cache_percent", percent("reshape_cache")},
          {"avg_fwd_kernel_percent", percent("fwd_kernel")},
          {"avg_paged_attention_percent", percent("paged_attention")},
          {"avg_unified_attention_percent", percent("unified_attention")},
          {"avg_reduce_percent", percent("reduce")},
          {"avg_unknown_role_percent", percent("attention")},
          {"avg_other_percent", percent("other")}};
}

Json category_specific(const Json& operations, const Peaks& peaks) {
  std::int64_t flash = 0, paged = 0, modelled = 0;
  double ctx = 0, gen = 0;
  for (const Json& operation : operations) {
    const Json& c = operation["classification"];
    const bool cache = c["is_kv_cache_update"].get<bool>();
    flash += c["is_flash_attention"].get<bool>() ? 1 : 0;
    paged += c["is_paged_attention"].get<bool>() && !cache ? 1 : 0;
    modelled += c["has_perf_model"].get<bool>() ? 1 : 0;
    const double calls = operation["count"].get<double>();
    ctx += calls * c["workload_profile"]["sum_ctx_tokens"].get<double>();
    gen += calls * c["workload_profile"]["sum_gen_tokens"].get<double>();
  }
  const auto bf16 = peaks.tflops.find("matrix_bf16");
  Json result{{"flash_attention_count", flash},
              {"paged_attention_count", paged},
              {"has_perf_model_count", modelled},
              {"flash_attention_detected", flash > 0},
              {"paged_attention_detected", paged > 0},
              {"peak_maf_tflops", bf16 == peaks.tflops.end() ? Json() : Json(bf16->second)},
              {"peak_hbm_bw_tbs", peaks.tb_per_s ? Json(*peaks.tb_per_s) : Json()}};
  if (paged > 0) {
    result["kernel_breakdown_avg"] = breakdown_average(operations);
    result["workload_profile"] = {{"total_ctx_tokens", static_cast<std::int64_t>(ctx)},
                                  {"total_gen_tokens", static_cast<std::int64_t>(gen)},
                                  {"ctx_ratio", ratio_of(ctx, gen)},
                                  {"profile_type", workload_type(ctx, gen)}};
  }
  return result;
}

Json impact_estimates(const Json& operations, const CategoryFiles& category) {
  Json list = Json::array();
  for (const Json& operation : operations) {
    const Json& percent = operation["efficiency"]["efficiency_percent"];
    // A figure above the peak leaves nothing to gain and is not trustworthy.
    if (!percent.is_number() || percent.get<double>() >= k_above_peak_percent) continue;
    if (!(percent.get<double>() > 0)) continue;  // there is no rate in this case
    const double time = operation["time_ms"].get<double>();
    list.push_back({{"operation", operation["name"]},
                    {"category", category.name},
                    {"type", "kernel_tuning"},
                    {"savings_ms", rounded(time * (1 - percent.get<double>() / 100), 3)},
                    {"confidence", operation["is_bottleneck"].get<bool>() ||
                                           operation["below_expected"] == Json(true)
                                       ? "high"
                                       : "medium"},
                    {"efficiency_pct", percent},
                    {"bound_type", operation["efficiency"]["bound_type"]},
                    {"time_ms", time}});
  }
  return list;
}

}  // namespace

Result<Json> metrics_of(const CategoryData& data, const CategoryFiles& category) {
  for (const char* column : {"name", "operation_count", "Kernel Time (µs)_sum"}) {
    if (data.ops.has(column)) continue;
    return Error{ErrorCode::invalid, "read the operations", category.ops().string(),
                 fmt::format("the column \"{}\" is missing", column),
                 "make the table again with `sdpa-wb trace prepare`"};
  }
  for (auto column = data.ops.header.begin(); column != data.ops.header.end(); ++column) {
    if (std::find(data.ops.header.begin(), column, *column) == column) continue;
    return Error{ErrorCode::invalid, "read the operations", category.ops().string(),
                 fmt::format("the column \"{}\" stands there twice", printable(*column, 60)),
                 "make the table again with `sdpa-wb trace prepare`"};
  }
  WB_TRY_ASSIGN(const Peaks peaks, peaks_of(data.metadata));
  std::vector<MetricsRow> rows;
  double all_us = 0;
  for (std::size_t i = 0; i < data.ops.rows.size(); ++i) {
    WB_TRY_ASSIGN(MetricsRow row, read_metrics_row(data.ops, i));
    all_us += row.time_us;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MetricsRow& a, const MetricsRow& b) { return a.time_us > b.time_us; });
  Json operations = Json::array();
  std::int64_t calls = 0;
  double efficiencies = 0, known = 0;
  for (const MetricsRow& row : rows) {
    Json operation = operation_json(row, peaks, all_us, category.name == "sdpa_bwd");
    const bool cache = operation["classification"]["is_kv_cache_update"].get<bool>();
    if (!cache) calls += row.count;
    if (operation["efficiency"]["efficiency_percent"].is_number()) {
      efficiencies += operation["efficiency"]["efficiency_percent"].get<double>();
      known += 1;
    }
    operations.push_back(std::move(operation));
  }
  const Json utilization = data.metadata.value("gpu_utilization", Json::object());
  const double total_ms = real_member(utilization, "total_time_ms");
  Json specific = category_specific(operations, peaks);
  Json impacts = impact_estimates(operations, category);
  const double share = 100 * all_us / k_us_per_ms / total_ms;
  return Json{
      {"category", category.name},
      {"status", "OK"},
      {"platform", data.metadata.value("platform", Json())},
      {"peak_source", data.metadata.value("peak_source", Json())},
      {"gpu_utilization", utilization},
      {"model_pattern", data.metadata.value("model_pattern", Json())},
      {"gaps", data.metadata.value("gaps", Json::array())},
      {"without_model", data.metadata.value("without_model", Json::array())},
      {"ranks", data.metadata.value("ranks", Json::array())},
      {"total_time_ms", rounded(all_us / k_us_per_ms, 3)},
      {"percent_of_compute", total_ms > 0 ? Json(rounded(share, 2)) : Json()},
      {"operation_count", calls},
      {"average_efficiency_percent", known > 0 ? Json(rounded(efficiencies / known, 2)) : Json()},
      {"operations", std::move(operations)},
      {"category_specific", std::move(specific)},
      {"impact_estimates", std::move(impacts)}};
}

Json error_metrics(const CategoryFiles& category, const Error& error) {
  return {{"category", category.name}, {"status", "ERROR"}, {"error", error.message()}};
}

}  // namespace wb::trace
