// SPDX-License-Identifier: MIT
// Writes the files of a category: the table, in TraceLens' columns, and the chains.
#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "trace/csv.hpp"
#include "trace/op_rows.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

constexpr double k_mib = 1024.0 * 1024.0;
constexpr std::size_t k_short_name = 64;
constexpr std::string_view k_unknown_word = "Unknown";

Json parsed(const Trace& trace, std::uint32_t id) {
  if (id == k_none) return Json::array();
  const auto value = parse_json(trace.text(id), "an operator's arguments");
  return value ? *value : Json::array();
}

/// Sizes, types, strides or concrete inputs as Python writes a tuple.
std::string argument_text(const Trace& trace, const SdpaCall& call, std::uint32_t OpArgs::*which) {
  Json all = Json::array();
  for (const std::uint32_t host :
       call.steps.empty() ? std::vector<std::uint32_t>{call.host} : call.steps) {
    const std::uint32_t index = trace.host[host].args;
    if (index == k_none) continue;
    for (const Json& item : parsed(trace, trace.args[index].*which)) all.push_back(item);
  }
  return python_literal(all, true);
}

Json perf_params(const OpRow& row) {
  Json params = Json::object();
  if (!row.sizes) return params;
  const AttentionSizes& s = *row.sizes;
  params = {{"B", s.B},
            {"N_Q", s.N_Q},
            {"H_Q", s.H_Q},
            {"N_KV", s.N_KV},
            {"H_KV", s.H_KV},
            {"d_h_qk", s.d_qk},
            {"d_h_v", s.d_v},
            {"dropout", std::isnan(s.dropout) ? Json() : Json(s.dropout)},
            {"flash_impl", row.attention == Attention::flash}};
  params["causal"] = s.causal ? Json(*s.causal) : Json();
  if (!s.dtype.empty()) params["dtype"] = s.dtype;
  if (s.masked) params["masked"] = true;
  if (s.windowed) params["windowed"] = true;
  if (s.chosen) params["chosen"] = true;
  if (s.bottom_right && s.causal.value_or(false)) params["bottom_right"] = *s.bottom_right;
  if (!s.lengths_known) params["lengths_known"] = false;
  if (row.packed && s.lengths_known) params["lengths_known"] = true;
  if (row.step) {
    const ServingStep& step = *row.step;
    params["sum_ctx_tokens"] = static_cast<std::int64_t>(step.ctx_q);
    params["sum_gen_tokens"] = static_cast<std::int64_t>(step.gen_q);
    params["ctx_requests"] = step.context_requests;
    params["gen_requests"] = step.generation_requests;
    if (step.pairs_known) {
      const std::pair<const char*, double> sums[] = {
          {"c_sq", step.ctx_q},    {"c_sk", step.ctx_k},   {"c_sqsq", step.ctx_qq},
          {"c_sqsk", step.ctx_qk}, {"g_sq", step.gen_q},   {"g_sk", step.gen_k},
          {"g_sqsq", step.gen_qq}, {"g_sqsk", step.gen_qk}};
      for (const auto& [key, value] : sums) params[key] = static_cast<std::int64_t>(value);
    }
  }
  return params;
}

Json kernel_json(const KernelLine& line) {
  return {{"name", line.name},
          {"stream", line.stream},
          {"count", line.count},
          {"total_duration_us", line.total_us},
          {"mean_duration_us", line.mean_us},
          {"median_duration_us", line.median_us},
          {"std_dev_duration_us", line.std_us},
          {"min_duration_us", line.min_us},
          {"max_duration_us", line.max_us}};
}

/// One row under construction: cells in the order of the header.
struct Cells {
  std::vector<std::pair<std::string, std::string>> list;
  void text(std::string column, std::string value) {
    list.emplace_back(std::move(column), std::move(value));
  }
  void number(std::string column, std::optional<double> value) {
    list.emplace_back(std::move(column), value ? python_number(*value) : std::string());
  }
};

void mean_and_std(Cells& cells, const std::string& what, const std::optional<Statistics>& s) {
  cells.number(what + "_mean", s ? std::optional(s->mean) : std::nullopt);
  cells.number(what + "_std", s ? s->std : std::nullopt);
}

void middle_and_ends(Cells& cells, const std::string& what, const std::optional<Statistics>& s) {
  cells.number(what + "_median", s ? std::optional(s->median) : std::nullopt);
  cells.number(what + "_min", s ? std::optional(s->min) : std::nullopt);
  cells.number(what + "_max", s ? std::optional(s->max) : std::nullopt);
}

std::string known(const std::map<std::string, std::string>& names, const std::string& key) {
  const auto found = names.find(key);
  return found == names.end() || found->second.empty() ? std::string(k_unknown_word)
                                                       : found->second;
}

void who(Cells& cells, const Trace& trace, const SdpaCall& call) {
  const Thread& thread = trace.threads[trace.host[call.host].thread];
  const auto named = trace.thread_names.find({thread.pid, thread.tid});
  cells.text("process_name", known(trace.process_names, thread.pid));
  cells.text("process_label", known(trace.process_labels, thread.pid));
  cells.text("thread_name",
             named == trace.thread_names.end() ? std::string(k_unknown_word) : named->second);
  cells.text("Input Dims", argument_text(trace, call, &OpArgs::dims));
  cells.text("Input type", argument_text(trace, call, &OpArgs::types));
  cells.text("Input Strides", argument_text(trace, call, &OpArgs::strides));
  cells.text("Concrete Inputs", argument_text(trace, call, &OpArgs::concrete));
  cells.number("ex_UID", std::nullopt);
  cells.list.back().second = fmt::to_string(trace.host[call.host].uid);
}

void figures(Cells& cells, const OpRow& row) {
  const auto work = row.work;
  const auto bytes = work ? work->bytes : std::nullopt;
  cells.text("operation_count", fmt::to_string(row.calls.size()));
  cells.number("total_duration_us", row.duration_us.sum);
  cells.number("mean_duration_us", row.duration_us.mean);
  cells.number("std_duration_us", row.duration_us.std);
  cells.number("GFLOPS", work ? std::optional(work->flops / k_giga) : std::nullopt);
  cells.number("Data Moved (MB)", bytes ? std::optional(*bytes / k_mib) : std::nullopt);
  const bool both = bytes && *bytes > 0;
  cells.number("FLOPS/Byte", both ? std::optional(work->flops / *bytes) : std::nullopt);
  cells.text("Compute Spec", row.compute_spec);
  mean_and_std(cells, "TB/s", row.tb_per_s);
  mean_and_std(cells, "TFLOPS/s", row.tflops);
  mean_and_std(cells, "Kernel Time (µs)", row.kernel_us);
  cells.number("Kernel Time (µs)_sum", row.kernel_us.sum);
  cells.number("duration_us_median", row.duration_us.median);
  cells.number("duration_us_min", row.duration_us.min);
  cells.number("duration_us_max", row.duration_us.max);
  middle_and_ends(cells, "TB/s", row.tb_per_s);
  middle_and_ends(cells, "TFLOPS/s", row.tflops);
  middle_and_ends(cells, "Kernel Time (µs)", row.kernel_us);
}

void kernels(Cells& cells, const OpRow& row) {
  Json whole = Json::array(), brief = Json::array();
  for (const KernelLine& line : row.kernels) {
    whole.push_back(kernel_json(line));
    const bool cut = line.name.size() > k_short_name;
    brief.push_back({{"name", cut ? printable(line.name, k_short_name) : line.name},
                     {"stream", line.stream},
                     {"mean_duration_us", line.mean_us}});
  }
  cells.text("kernel_details_summary", python_literal(whole, false));
  cells.text("trunc_kernel_details", python_literal(brief, false));
}

}  // namespace

std::string dims_text(const Trace& trace, const SdpaCall& call) {
  return argument_text(trace, call, &OpArgs::dims);
}

std::string ops_csv(const Trace& trace, const SdpaCalls& calls, const std::vector<OpRow>& rows,
                    const CategoryFiles& category) {
  std::string text;
  double percent = 0;
  for (const OpRow& row : rows) {
    const SdpaCall& first = calls.calls[row.calls.front()];
    Cells cells;
    cells.text("name", row.name);
    cells.text("op category",
               row.attention == Attention::paged ? "InferenceAttention" : category.display);
    who(cells, trace, first);
    figures(cells, row);
    kernels(cells, row);
    const Json params = perf_params(row);
    cells.text("perf_params", params.empty() ? std::string() : python_literal(params, false));
    cells.text("has_perf_model", row.work ? "True" : "False");
    percent += row.percent;
    cells.number("Percentage (%)", row.percent);
    cells.number("Cumulative Percentage (%)", percent);
    cells.text("enhanced_category", category.name);
    cells.text("display_name", category.display);
    std::vector<std::string> heads, values;
    for (const auto& [column, value] : cells.list) {
      heads.push_back(csv_cell(column));
      values.push_back(csv_cell(value));
    }
    if (text.empty()) text = fmt::format("{}\n", fmt::join(heads, ","));
    text += fmt::format("{}\n", fmt::join(values, ","));
  }
  return text;
}

Json tree_data(const Trace& trace, const SdpaCalls& calls, const std::vector<OpRow>& rows) {
  Json tree = Json::object();
  for (const OpRow& row : rows) {
    const SdpaCall& first = calls.calls[row.calls.front()];
    Json chain = Json::array(), kernels = Json::array();
    for (const std::uint32_t name : parents_of(trace, first.host))
      chain.push_back(trace.text(name));
    for (const KernelLine& line : row.kernels) kernels.push_back(line.name);
    const std::uint32_t uid = trace.host[first.host].uid;
    tree[fmt::to_string(uid)] = {
        {"op_name", row.name},
        {"ex_uid", uid},
        {"input_dims", argument_text(trace, first, &OpArgs::dims)},
        {"parent_chain", std::move(chain)},
        {"subtree", std::move(kernels)},
        {"fusion_opportunity", row.name == k_unfused_name || row.attention == Attention::standard},
        {"notes", "parents of the first call, innermost first; its GPU kernels"}};
  }
  return tree;
}

}  // namespace wb::trace
