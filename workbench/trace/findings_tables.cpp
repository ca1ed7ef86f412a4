// SPDX-License-Identifier: MIT
#include "trace/findings_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "trace/metrics_row.hpp"

namespace wb::trace {

namespace markdown {

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string name_cell(const std::string& name, std::size_t max_bytes) {
  std::string shown = printable(name, max_bytes);
  std::replace(shown.begin(), shown.end(), '`', '\'');
  return "`" + cell(std::move(shown)) + "`";
}

std::string number(const Json& value, const char* form) {
  return value.is_number() ? fmt::format(fmt::runtime(form), value.get<double>())
                           : std::string("not known");
}

std::string percent(const Json& value) {
  return value.is_number() ? number(value) + " %" : number(value);
}

std::string word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string("not known");
}

}  // namespace markdown

using namespace markdown;

namespace {

/// Converts a kernel's standard deviation to n - 1. TraceLens writes kernels' by n and calls' by n
/// - 1; the page shows both by n - 1. One sample has none.
Json sample_deviation(const Json& kernel) {
  const auto n = static_cast<double>(integer_member(kernel, "count"));
  if (!has_number(kernel, "std_dev_duration_us") || n < 2) return nullptr;
  return real_member(kernel, "std_dev_duration_us") * std::sqrt(n / (n - 1));
}

/// The text for a role's share: a lower bound if kernels without a known role ran as well.
std::string role_share(double value, double unknown, bool is_role) {
  if (!is_role || !(unknown > 0)) return fmt::format("{:.2f}", value);
  if (!(value > 0)) return fmt::format("not known (at most {:.2f})", unknown);
  return fmt::format("{:.2f} to {:.2f}", value, value + unknown);
}

}  // namespace

std::string call_section(const Json& metrics) {
  std::string text =
      "## Time per call\n\nGPU time of one call as the profiler recorded it, and the time of its "
      "operator on the host. A profiler costs time, on the host most of all: measure what is to "
      "be compared (`sdpa-wb measure`, `sdpa-wb trace suite`).\n\n" +
      head({"#", "Operation", "Calls", "GPU mean (µs)", "GPU median (µs)", "GPU min (µs)",
            "GPU max (µs)", "GPU σ, n − 1 (µs)", "Host mean (µs)"});
  int place = 0;
  for (const Json& operation : metrics["operations"]) {
    const Json& times = operation["per_call"];
    text += row({fmt::to_string(++place), name_cell(operation["name"].get<std::string>()),
                 operation["count"].dump(), number(member_of(times, "mean_us")),
                 number(member_of(times, "median_us")), number(member_of(times, "min_us")),
                 number(member_of(times, "max_us")), number(member_of(times, "std_us")),
                 number(member_of(times, "host_mean_us"))});
  }
  return text + "\n";
}

std::string kernel_section(const Json& metrics) {
  std::string text =
      "## Kernel breakdown\n\n" +
      head({"Operation", "GPU kernel", "Kind", "% by total time", "Calls", "Mean (µs)",
            "Median (µs)", "Min (µs)", "Max (µs)", "σ, n − 1 (µs)", "CV"});
  for (const Json& operation : metrics["operations"]) {
    const Json& list = operation["kernel_details_parsed"];
    double sum = 0;
    for (const Json& kernel : list) sum += real_member(kernel, "total_duration_us");
    for (const Json& kernel : list) {
      const double mean = real_member(kernel, "mean_duration_us");
      const Json deviation = sample_deviation(kernel);
      const std::string name = string_member(kernel, "name");
      text +=
          row({name_cell(operation["name"].get<std::string>(), 48), name_cell(name),
               std::string(kernel_type(name)),
               sum > 0 ? fmt::format("{:.1f}", 100 * real_member(kernel, "total_duration_us") / sum)
                       : "not known",
               fmt::to_string(integer_member(kernel, "count")),
               number(member_of(kernel, "mean_duration_us")),
               number(member_of(kernel, "median_duration_us")),
               number(member_of(kernel, "min_duration_us")),
               number(member_of(kernel, "max_duration_us")), number(deviation),
               mean > 0 && deviation.is_number()
                   ? fmt::format("{:.0f}%", 100 * deviation.get<double>() / mean)
                   : "not known"});
    }
  }
  text += "\n";
  const Json shares = metrics["category_specific"].value("kernel_breakdown_avg", Json());
  if (!shares.is_object()) return text;
  struct Line {
    const char *key, *kernel, *purpose, *expected;
    double flag;
  };
  constexpr std::array<Line, 5> k_lines{
      {{"avg_reshape_cache_percent", "`reshape_and_cache`", "writes the KV cache", "3-5", 10},
       {"avg_fwd_kernel_percent", "`_fwd_kernel`", "prefill", "20-50", 101},
       {"avg_paged_attention_percent", "`kernel_paged_attention_2d` and its like", "decode",
        "40-60", 70},
       {"avg_unified_attention_percent", "`kernel_unified_attention_2d`, `_3d`",
        "prefill and decode in one", "-", 101},
       {"avg_reduce_percent", "`reduce_segments` and its like", "adds up split keys", "-", 101}}};
  text +=
      "### Paged attention as a whole\n\nShares of the total time of all kernels of paged "
      "attention, be the cache written inside the operator or beside it.\n\n" +
      head({"Kernel", "Purpose", "Expected %", "Measured %", "Flag"});
  const Json profile = metrics["category_specific"].value("workload_profile", Json::object());
  const bool prefill = profile.value("profile_type", "") == "prefill_heavy";
  const bool unified = shares["avg_unified_attention_percent"].get<double>() > 0;
  const double unknown = real_member(shares, "avg_unknown_role_percent");
  for (const Line& line : k_lines) {
    const double value = shares[line.key].get<double>();
    const bool is_role = std::string_view(line.key) == "avg_fwd_kernel_percent" ||
                         std::string_view(line.key) == "avg_paged_attention_percent";
    std::string flag = "-";
    if (value > line.flag) flag = fmt::format("above {:g} %", line.flag);
    const bool forward = std::string_view(line.key) == "avg_fwd_kernel_percent";
    if (forward && prefill && !unified && value + unknown < 20)
      flag = "low for a prefill-heavy profile";
    text +=
        row({line.kernel, line.purpose, line.expected, role_share(value, unknown, is_role), flag});
  }
  if (unknown > 0) {
    text += row({"kernels whose name tells no role", "prefill, decode or both", "-",
                 fmt::format("{:.2f}", unknown), "role not known"});
  }
  return text + "\n";
}

std::string workload_section(const Json& metrics) {
  std::string text = "## Workload profile\n\n" +
                     head({"Operation", "N_Q", "N_KV", "H_Q", "H_KV", "Pattern", "GQA ratio",
                           "Context tokens", "Generation tokens", "ctx_ratio", "Workload"});
  for (const Json& operation : metrics["operations"]) {
    const Json& p = operation["classification"]["workload_profile"];
    const auto size = [](const Json& value) {
      return value.is_number() && value.get<double>() > 0 ? value.dump() : std::string("not known");
    };
    // Zero tokens mean that the step was not recorded.
    const bool known = p["workload_type"] != Json("unknown");
    const auto tokens = [&](const char* key) {
      if (!operation["classification"]["is_paged_attention"].get<bool>()) return std::string("-");
      return known ? p[key].dump() : std::string("not known");
    };
    text +=
        row({name_cell(operation["name"].get<std::string>()), size(p["n_q"]), size(p["n_kv"]),
             size(p["h_q"]), size(p["h_kv"]), word(p["attention_pattern"]),
             p["gqa_ratio"].is_number() ? p["gqa_ratio"].dump() : "-", tokens("sum_ctx_tokens"),
             tokens("sum_gen_tokens"), number(p["ctx_ratio"], "{:.4f}"), word(p["workload_type"])});
  }
  return text + "\n";
}

}  // namespace wb::trace
