// SPDX-License-Identifier: MIT
// The findings page. The metrics hold every figure on it; unknown values are named.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.hpp"
#include "trace/advice.hpp"
#include "trace/analyze.hpp"
#include "trace/findings_tables.hpp"
#include "trace/metrics_row.hpp"
#include "trace/model_pattern.hpp"

namespace wb::trace {
namespace {

using namespace markdown;

constexpr std::size_t k_gap_bytes = 1200;

std::string title_of(const CategoryFiles& category) {
  return category.name == "sdpa_bwd" ? "# SDPA Backward Analysis Findings\n\n"
                                     : "# SDPA Forward Analysis Findings\n\n";
}

const Json& profile_of(const Json& operation) {
  return operation["classification"]["workload_profile"];
}

std::string implementation(const Json& metrics) {
  const Json& specific = metrics["category_specific"];
  std::vector<std::string> kinds;
  if (specific["flash_attention_detected"].get<bool>()) kinds.emplace_back("Flash Attention");
  if (specific["paged_attention_detected"].get<bool>()) kinds.emplace_back("Paged Attention");
  const bool standard = std::any_of(
      metrics["operations"].begin(), metrics["operations"].end(), [](const Json& operation) {
        return operation["classification"]["attention_type"] == Json("standard");
      });
  if (standard) kinds.emplace_back("Standard (unfused) Attention");
  return kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", "));
}

std::string header(const Json& metrics) {
  const Json& specific = metrics["category_specific"];
  std::string text = "**Status:** SUCCESS\n";
  text +=
      fmt::format("**Platform:** {} | peak bf16 {} TFLOPS | memory {} TB/s",
                  name_cell(word(metrics["platform"])), number(specific["peak_maf_tflops"], "{:g}"),
                  number(specific["peak_hbm_bw_tbs"], "{:g}"));
  if (metrics["peak_source"].is_string()) {
    text += fmt::format(" | source: {}", name_cell(word(metrics["peak_source"]), 300));
  }
  text += fmt::format("\n**Attention type:** {}\n", implementation(metrics));
  text += fmt::format("**Total GPU kernel time:** {:.3f} ms | **Operation count:** {}\n",
                      metrics["total_time_ms"].get<double>(),
                      metrics["operation_count"].get<std::int64_t>());
  const Json& share = metrics["percent_of_compute"];
  const bool beside = share.is_number() && share.get<double>() > 100;
  text += fmt::format("**Share of the profile's GPU span:** {}{}\n", percent(share),
                      beside ? " (kernels ran beside each other)" : "");
  if (const Json ranks = metrics.value("ranks", Json()); ranks.is_array() && !ranks.empty()) {
    std::vector<std::string> each;
    for (const Json& rank : ranks) {
      if (rank.is_string()) each.push_back(cell(printable(rank.get<std::string>())));
    }
    text += fmt::format("**Ranks:** {} (rows are of all of them)\n", fmt::join(each, "; "));
  }
  text += fmt::format("**Average efficiency:** {} of peak (plain mean over the rows)\n\n",
                      percent(metrics["average_efficiency_percent"]));
  return text;
}

constexpr std::array<const char*, 6> k_sizes{"B", "H_Q", "H_KV", "N_Q", "N_KV", "d_h_qk"};

std::string efficiency_cell(const Json& efficiency) {
  if (efficiency["efficiency_percent"].is_number()) {
    return number(efficiency["efficiency_percent"]) + "%";
  }
  const Json most = efficiency.value("most_efficiency_percent", Json());
  return most.is_number() ? "at most " + number(most) + "%" : std::string("not known");
}

std::string band_cell(const Json& operation) {
  const Json band = operation.value("expected_efficiency", Json());
  return band.is_object() ? fmt::format("{:g} to {:g}%", band["low_percent"].get<double>(),
                                        band["high_percent"].get<double>())
                          : std::string("-");
}

std::string operations_table(const Json& metrics) {
  const bool any_paged = metrics["category_specific"]["paged_attention_detected"].get<bool>();
  std::vector<std::string> heads{
      "#",          "Operation",     "Shape (B, H_Q, H_KV, N_Q, N_KV, d)",
      "Count",      "GPU time (ms)", "% of category",
      "TFLOPS",     "Efficiency",    "Bound",
      "FLOPS/byte", "Expected",      "Verdict"};
  if (any_paged) heads.insert(heads.end(), {"Workload", "Pattern", "Largest kernel"});
  std::string text = "## Operations\n\n" + head(heads);
  int place = 0;
  for (const Json& operation : metrics["operations"]) {
    const Json& e = operation["efficiency"];
    const Json& params = operation["perf_params_parsed"];
    const bool is_known = std::all_of(k_sizes.begin(), k_sizes.end(), [&](const char* size) {
      return integer_member(params, size) > 0;
    });
    const std::string shape =
        is_known ? fmt::format("({}, {}, {}, {}, {}, {})", integer_member(params, "B"),
                               integer_member(params, "H_Q"), integer_member(params, "H_KV"),
                               integer_member(params, "N_Q"), integer_member(params, "N_KV"),
                               integer_member(params, "d_h_qk"))
                 : std::string("not known");
    std::vector<std::string> cells{fmt::to_string(++place),
                                   name_cell(operation["name"].get<std::string>()),
                                   shape,
                                   operation["count"].dump(),
                                   number(operation["time_ms"], "{:.3f}"),
                                   number(operation["percent_of_category"], "{:.1f}"),
                                   number(e["tflops_achieved"]),
                                   efficiency_cell(e),
                                   word(e["bound_type"]),
                                   number(e["flops_per_byte"], "{:.1f}"),
                                   band_cell(operation),
                                   word(operation.value("verdict", Json()))};
    if (any_paged) {
      std::string largest = "-";
      if (operation["classification"].contains("kernel_breakdown")) {
        double most = -1;
        for (const Json& kernel : operation["classification"]["kernel_breakdown"]["kernels"]) {
          if (!kernel["percent"].is_number() || kernel["percent"].get<double>() <= most) continue;
          most = kernel["percent"].get<double>();
          largest = fmt::format("{} {:.1f} %", word(kernel["kernel_type"]), most);
        }
      }
      const Json& profile = profile_of(operation);
      cells.insert(cells.end(), {word(profile["workload_type"]), word(profile["attention_pattern"]),
                                 cell(largest)});
    }
    text += row(cells);
  }
  return text + "\n";
}

std::string bottlenecks(const Json& metrics) {
  std::string text = fmt::format(
      "## Bottlenecks\n\nCriterion: more than {:g} ms or {:g} % of the category, and less than "
      "{:g} "
      "% of peak.\n\n",
      k_bottleneck_ms, k_bottleneck_percent, k_low_efficiency_percent);
  bool any = false;
  for (const Json& operation : metrics["operations"]) {
    const Json& e = operation["efficiency"];
    const bool below = operation["below_expected"] == Json(true);
    const bool listed =
        operation["is_bottleneck"].get<bool>() || (operation["is_large"].get<bool>() && below);
    if (!listed) continue;
    any = true;
    text += fmt::format("### {}\n\n", name_cell(operation["name"].get<std::string>()));
    text += fmt::format("- GPU time: {} ms, {} % of the category, {} calls\n",
                        number(operation["time_ms"], "{:.3f}"),
                        number(operation["percent_of_category"]), operation["count"].dump());
    text +=
        fmt::format("- Efficiency: {}",
                    e["efficiency_label"].is_string() ? word(e["efficiency_label"]) : "not known");
    const Json rate = e.value("tflops_of_total_time", Json());
    text += rate.is_number() ? fmt::format("; by all work over all time {} TFLOPS\n", number(rate))
                             : std::string("\n");
    if (const Json band = operation.value("expected_efficiency", Json()); band.is_object()) {
      text += fmt::format("- Expected at this length and workload: {:g} to {:g} % ({}): {}\n",
                          band["low_percent"].get<double>(), band["high_percent"].get<double>(),
                          word(band["label"]),
                          below ? "below it, an opportunity for kernel optimization"
                                : "within it; less than 40 % is normal here");
    }
    if (word(profile_of(operation)["attention_pattern"]) == "GQA") {
      text += fmt::format(
          "- Grouped heads, {} query heads for each key head: slightly less than "
          "with equal heads is expected\n",
          profile_of(operation)["gqa_ratio"].dump());
    }
    text += "\n";
  }
  return any ? text : text + "None.\n\n";
}

std::string anomalies(const Json& metrics) {
  std::string text = "## Anomaly check\n\n";
  bool any = false;
  for (const Json& operation : metrics["operations"]) {
    const Json& warning = operation["efficiency"]["warning"];
    if (!warning.is_string()) continue;
    any = true;
    text +=
        fmt::format("- {}: {}\n", name_cell(operation["name"].get<std::string>()), word(warning));
  }
  return text + (any ? "\n" : "No efficiency above 100 %.\n\n");
}

std::string rules_table(const std::string& title, const std::vector<std::string>& heads,
                        const std::vector<PagedRule>& rules) {
  std::string text = "### " + title + "\n\n" + head(heads);
  for (const PagedRule& rule : rules) {
    text += row({rule.subject, rule.when, rule.action, cell(rule.here)});
  }
  return text + "\n";
}

std::string recommendations(const Json& metrics) {
  std::string text = "## Recommendations\n\n";
  const auto list = advice_for(metrics);
  if (list.empty()) {
    text += "None: no operation is large and below what is expected of it.\n\n";
  }
  int place = 0;
  for (const Advice& advice : list) {
    text += fmt::format(
        "### {}. {}\n\n- **Evidence:** {}\n- **Algorithmic:** {}\n- **Kernel:** "
        "{}\n- **Expected:** {}\n\n",
        ++place, advice.title, advice.evidence, advice.algorithmic, advice.kernel, advice.expected);
  }
  if (metrics["category_specific"]["paged_attention_detected"].get<bool>()) {
    text += rules_table("Paged attention: algorithmic", {"Issue", "When", "What to do", "Here"},
                        algorithmic_rules(metrics));
    text += rules_table("Paged attention: kernels", {"Kernel", "When", "What to do", "Here"},
                        kernel_rules(metrics));
    text += rules_table("Paged attention: configuration",
                        {"Parameter", "It is about", "What to do", "Here"},
                        configuration_rules(metrics));
  }
  text += "### Impact\n\n";
  if (metrics["impact_estimates"].empty()) return text + "No estimate: no efficiency is known.\n\n";
  text += "Time saved if the operation ran at its peak: a bound, not a promise.\n\n" +
          head({"Operation", "Kind", "At most (ms)", "Confidence"});
  for (const Json& estimate : metrics["impact_estimates"]) {
    text += row({name_cell(word(estimate["operation"])), word(estimate["type"]),
                 number(estimate["savings_ms"], "{:.3f}"), word(estimate["confidence"])});
  }
  return text + "\n";
}

std::string chains(const Json& tree) {
  std::string text = "## Call chains\n\n";
  if (!tree.is_object() || tree.empty()) return text + "Not recorded in this folder.\n\n";
  for (const auto& [uid, entry] : tree.items()) {
    const Json chain = entry.is_object() ? entry.value("parent_chain", Json()) : Json();
    if (!entry.is_object() || !chain.is_array()) continue;
    text += fmt::format("- {} (event {}): ", name_cell(string_member(entry, "op_name")),
                        printable(uid));
    std::vector<std::string> names;
    for (const Json& name : chain) {
      if (name.is_string()) names.push_back(name_cell(name.get<std::string>(), 100));
    }
    text += names.empty() ? std::string("no parent recorded\n")
                          : fmt::format("{}\n", fmt::join(names, " < "));
  }
  return text + "\n";
}

std::string gaps(const Json& metrics) {
  std::string text = "## What is not known\n\n";
  bool any = false;
  for (const char* key : {"gaps", "without_model"}) {
    const Json list = metrics.value(key, Json::array());
    if (!list.is_array()) continue;
    for (const Json& gap : list) {
      if (!gap.is_string()) continue;
      any = true;
      text += fmt::format("- {}\n", printable(gap.get<std::string>(), k_gap_bytes));
    }
  }
  for (const Json& operation : metrics["operations"]) {
    const Json& params = operation["perf_params_parsed"];
    if (params.is_object() && params.value("masked", Json()) == Json(true)) {
      any = true;
      text += fmt::format("- {}: it had a mask; products that it hides are counted as work\n",
                          name_cell(operation["name"].get<std::string>()));
    }
    const Json& why = operation["efficiency"]["why_unknown"];
    if (!why.is_string() || operation["classification"]["is_kv_cache_update"].get<bool>()) continue;
    any = true;
    text += fmt::format("- {}: efficiency not known: {}\n",
                        name_cell(operation["name"].get<std::string>()), word(why));
  }
  if (!any) text += "Nothing was left out.\n";
  return text +
         "\nA profile shows times and sizes. It does not show cache hits, bank conflicts or "
         "occupancy: a cause named without them is a guess.\n";
}

}  // namespace

std::string findings_page(const Json& metrics, const Json& tree, const CategoryFiles& category) {
  return vendor_neutral(title_of(category) + header(metrics) + operations_table(metrics) +
                        call_section(metrics) + bottlenecks(metrics) + kernel_section(metrics) +
                        workload_section(metrics) + model_section(metrics["model_pattern"]) +
                        anomalies(metrics) + recommendations(metrics) + chains(tree) +
                        gaps(metrics));
}

std::string error_page(const CategoryFiles& category, const Error& error) {
  return title_of(category) + "**Status:** ERROR\n\n" + error.message() + "\n";
}

std::string nothing_page(const CategoryFiles& category, const Json& manifest) {
  const std::string unseen = string_member(manifest, "nothing_seen");
  std::string text = title_of(category);
  if (!unseen.empty()) {
    text +=
        "**Status:** NOTHING SEEN\n\nNothing could be looked at: " + printable(unseen, 400) + ".\n";
  } else if (integer_member(manifest, "attention_like_kernels") > 0) {
    text +=
        "**Status:** SUCCESS\n\nNo SDPA operation that is known here. Kernels named like attention "
        "did run:\n";
  } else {
    text += "**Status:** SUCCESS\n\n" + std::string(k_nothing_found) + "\n";
  }
  const Json gaps = manifest.is_object() ? manifest.value("gaps", Json()) : Json();
  if (!gaps.is_array() || gaps.empty()) return text;
  text += "\nLeft out of the trace:\n\n";
  for (const Json& gap : gaps) {
    if (gap.is_string())
      text += fmt::format("- {}\n", printable(gap.get<std::string>(), k_gap_bytes));
  }
  return text;
}

}  // namespace wb::trace
