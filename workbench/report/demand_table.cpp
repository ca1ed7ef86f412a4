// SPDX-License-Identifier: MIT
// What the problems demand of the device, and how the launches meet it: findings with the same
// figures for every problem, as one table each.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "core/text.hpp"
#include "report/findings.hpp"

namespace wb::report {

using session::Fact;

namespace {

constexpr std::size_t k_max_demand_rows = 40;

std::string figure(const Json& figures, const char* key) {
  const auto value = number(figures, key);
  return value ? significant(*value, 3) : std::string("-");
}

std::string bytes_cell(std::optional<double> bytes) {
  if (!bytes) return "-";
  const BinarySize size = binary_size(*bytes, BinaryUnit::kib, BinaryUnit::mib);
  return fmt::format("{:.3g} {}", size.value, size.unit);
}

/// The cell "64 KiB, fits" or "1 MiB, too large"; only the size if the limit is unknown.
std::string fit_cell(const Json& figures, const char* bytes, const char* fits) {
  const std::string size = bytes_cell(number(figures, bytes));
  const Json& said = field(figures, fits);
  return said.is_boolean() ? size + (said.get<bool>() ? ", fits" : ", too large") : size;
}

/// The findings of one analysis with their problems, in the order of the log.
std::vector<std::pair<std::string, const Fact*>> of_analysis(const Facts& facts,
                                                             const std::vector<Fact>& findings,
                                                             std::string_view analysis) {
  std::vector<std::pair<std::string, const Fact*>> result;
  for (const Fact& finding : findings) {
    const std::string problem = text(finding.payload, "problem");
    if (problem.empty() || text(finding.payload, "analysis") != analysis) continue;
    if (facts.hide_held_out && facts.is_held_out(problem)) continue;
    result.emplace_back(problem, &finding);
  }
  return result;
}

std::string left_out(std::size_t rows) {
  return rows > k_max_demand_rows
             ? fmt::format("{} more are in the log.\n\n", rows - k_max_demand_rows)
             : "";
}

}  // namespace

bool is_in_demand_tables(const Fact& finding) {
  const std::string analysis = text(finding.payload, "analysis");
  return !text(finding.payload, "problem").empty() &&
         (analysis == "intensity" || analysis == "working_set" || analysis == "launch");
}

std::string demand_table(const Facts& facts, const std::vector<Fact>& findings) {
  const auto intensities = of_analysis(facts, findings, "intensity");
  if (intensities.empty()) return {};
  std::map<std::string, const Fact*> sets;
  for (const auto& [problem, finding] : of_analysis(facts, findings, "working_set")) {
    sets[problem] = finding;
  }
  Table table({"problem", "fused>", "ridge>", "QK^T>", "softmax>", "PV>",
               "K, V at one row a block>", "K, V of a head", "all tensors", "events"});
  for (std::size_t i = 0; i < std::min(intensities.size(), k_max_demand_rows); ++i) {
    const auto& [problem, finding] = intensities[i];
    const Json& figures = field(finding->payload, "figures");
    const auto set = sets.find(problem);
    const Json none;
    const Json& sizes = set == sets.end() ? none : field(set->second->payload, "figures");
    const Json& reads = field(figures, "kv_reads");
    const Json& at_one_row = reads.is_array() && !reads.empty() ? reads.front() : none;
    std::vector<std::int64_t> events{finding->seq};
    if (set != sets.end()) events.push_back(set->second->seq);
    table.row({inline_text(facts.title(problem), 60), figure(figures, "intensity_flops_per_byte"),
               figure(figures, "ridge_flops_per_byte"), figure(figures, "qk_flops_per_byte"),
               figure(figures, "softmax_flops_per_byte"), figure(figures, "pv_flops_per_byte"),
               figure(at_one_row, "kv_redundancy") + "x",
               fit_cell(sizes, "kv_head_bytes", "kv_head_fits_unit"),
               fit_cell(sizes, "tensor_bytes", "tensors_fit_last_cache"), cite(events)});
  }
  return "What the problems demand, in FLOP per byte: fused (the scores stay on chip) beside the "
         "ridge of the device, from which on compute is the limit, and phase by phase with the "
         "scores in memory; how often K and V are asked for when each block takes one query row; "
         "what fits into the fast memory of one unit and into the last cache:\n\n" +
         table.str() + "\n" + left_out(intensities.size());
}

std::string launch_table(const Facts& facts, const std::vector<Fact>& findings) {
  const auto launches = of_analysis(facts, findings, "launch");
  if (launches.empty()) return {};
  Table table({"problem", "kernel", "blocks>", "threads>", "SMs reached>", "waves>", "occupancy>",
               "K, V asked for>", "events"});
  for (std::size_t i = 0; i < std::min(launches.size(), k_max_demand_rows); ++i) {
    const auto& [problem, finding] = launches[i];
    const Json& figures = field(finding->payload, "figures");
    const auto share = [&](const char* key) {
      const auto value = number(figures, key);
      return value ? fmt::format("{:.0f} %", 100 * *value) : std::string("not seen");
    };
    const auto redundancy = number(figures, "kv_redundancy");
    const auto waves = number(figures, "waves");
    table.row({inline_text(facts.title(problem), 60), code(text(figures, "kernel"), 60),
               figure(figures, "blocks"), figure(figures, "threads_per_block"), share("units_frac"),
               waves ? fmt::format("{:.2f}", *waves) : "not seen", share("occupancy_frac"),
               redundancy ? significant(*redundancy, 3) + "x" : std::string("not known"),
               cite(finding->seq)});
  }
  return "What each call launches (its main kernel), as a tool saw it; K and V are asked for so "
         "often if each block takes rows of one head:\n\n" +
         table.str() + "\n" + left_out(launches.size());
}

std::string thread_table(const Facts& facts, const std::vector<Fact>& findings) {
  Table table({"problem", "kernel", "threads a block>", "lanes of its warps>",
               "active, a thread a row>", "active, as ncu saw it>", "events"});
  const auto launches = of_analysis(facts, findings, "launch");
  for (std::size_t i = 0; i < std::min(launches.size(), k_max_demand_rows); ++i) {
    const auto& [problem, finding] = launches[i];
    const Json& figures = field(finding->payload, "figures");
    const auto threads = number(figures, "threads_per_block");
    if (!threads) continue;
    const auto active = [&](const char* count_key, const char* share_key, const char* without) {
      const auto many = number(figures, count_key), share = number(figures, share_key);
      return many && share ? fmt::format("{} ({:.0f} %)", significant(*many, 3), 100 * *share)
                           : std::string(without);
    };
    const auto lanes = number(figures, "warp_lanes_frac");
    table.row({inline_text(facts.title(problem), 60), code(text(figures, "kernel"), 60),
               fmt::format("{:g}", *threads),
               lanes ? fmt::format("{:.0f} % filled", 100 * *lanes) : std::string("-"),
               active("row_threads_per_block", "row_threads_frac", "rows not known"),
               active("active_threads_per_block", "active_threads_frac", "not seen"),
               cite(finding->seq)});
  }
  if (table.empty()) return {};
  return "Threads of a block at work: at least one for each of its rows, which is all where a row "
         "has one thread only; at most the lanes that ncu saw active in the warps that issued "
         "(warps that wait at a barrier issue nothing and are not in it):\n\n" +
         table.str() + "\n" + left_out(launches.size());
}

}  // namespace wb::report
