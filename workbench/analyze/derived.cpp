// SPDX-License-Identifier: MIT
#include "analyze/derived.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analyze/evidence.hpp"
#include "analyze/occupancy.hpp"
#include "analyze/traffic.hpp"
#include "core/json.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;

namespace {

/// The share of an SM's warps that the registers of its hungriest kernel allow.
std::optional<double> register_occupancy(const Evidence& evidence, const std::string& subject) {
  const auto limits = sm_limits(evidence.device.architecture);
  if (!limits) return std::nullopt;
  std::optional<double> least;
  for (const measure::KernelFacts& kernel : evidence.kernels) {
    if (kernel.source != "ptxas" || kernel.subject != subject || !kernel.registers) continue;
    const double frac = static_cast<double>(most_warps(*limits, *kernel.registers)) / limits->warps;
    least = std::min(least.value_or(frac), frac);
  }
  return least;
}

/// Manifests from before techniques had conditions list all that the kernel can do. There a
/// parameter of 0 tells that this configuration does not.
constexpr std::array<std::pair<std::string_view, const char*>, 4> k_switches{
    {{"async_copy", "ASYNC_COPY"},
     {"vectorized_loads", "VECTOR_LOADS"},
     {"bank_conflict_padding", "PADDING"},
     {"split_kv", "SPLIT_KEYS"}}};

std::vector<std::string> techniques_of(const DerivedInput& input) {
  std::vector<std::string> techniques =
      variant::techniques_in(*input.manifest, input.configuration);
  for (const auto& [technique, parameter] : k_switches) {
    const auto value = input.configuration.find(parameter);
    if (value == input.configuration.end() || value->second != 0) continue;
    std::erase(techniques, technique);
  }
  return techniques;
}

std::optional<Finding> configuration_finding(const DerivedInput& input, const Evidence& evidence) {
  const std::vector<std::string> techniques = techniques_of(input);
  if (techniques.empty()) return std::nullopt;
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return std::find(techniques.begin(), techniques.end(), word) != techniques.end();
    });
  };
  const bool matrix = has({"tensor_core_mma", "tensor_core_wgmma"});
  const bool ahead = has({"async_copy", "tma_copy", "multi_stage_pipeline"});
  Finding finding;
  finding.analysis = "configuration";
  finding.statement =
      fmt::format("derived, not measured: by its manifest and configuration {} uses {}",
                  input.subject, fmt::join(techniques, ", "));
  finding.figures = {{"subject", input.subject},
                     {"has_matrix_units", matrix},
                     {"has_wide_copies", has({"vectorized_loads", "async_copy", "tma_copy"})},
                     {"has_bank_layout", has({"bank_conflict_padding", "bank_conflict_swizzle"})},
                     {"splits_keys", has({"split_kv"})},
                     {"hides_latency", matrix && ahead}};
  if (input.spills) finding.figures["spills"] = *input.spills;
  if (const auto frac = register_occupancy(evidence, input.subject)) {
    finding.figures["register_occupancy_frac"] = *frac;
  }
  finding.unseen = "whether the code does what its manifest says";
  return finding;
}

/// The least share of the waves' places that is filled, for every number of waves from `least` on.
double least_fill(double least, double most) {
  if (std::abs(least - most) < 1e-9) return least / std::ceil(least);
  const double whole = std::floor(least);
  return whole >= 1 ? whole / (whole + 1) : 0.0;
}

void add_waves(Finding& finding, const catalogue::LaunchRule& rule,
               const catalogue::LaunchBounds& bounds, double units) {
  const auto least = static_cast<double>(bounds.blocks_least),
             most = static_cast<double>(bounds.blocks_most);
  finding.figures["waves_most"] = most / units;  // with one block an SM; more make fewer waves
  if (rule.resident == 0) return;
  const auto places = units * static_cast<double>(rule.resident);
  finding.figures["waves_least"] = least / places;
  finding.figures["wave_fill_least_frac"] = least_fill(least / places, most / places);
  if (bounds.blocks_least == bounds.blocks_most) {
    finding.figures["wave_fill_most_frac"] = least / places / std::ceil(least / places);
  }
}

/// K and V as often as the finest tile asks for them, and the other tensors, over what the memory
/// could bring in the measured time.
void add_demand(Finding& finding, const DerivedInput& input, const Evidence& evidence,
                const problem::Problem& problem, double requested) {
  const auto bandwidth = known(evidence.device.memory_bytes_per_s);
  if (!bandwidth) return;
  for (const measure::Observation& one : evidence.observations) {
    if (one.subject != input.subject || !has_time(one)) continue;
    if (problem::to_text(one.problem) != problem::to_text(problem)) continue;
    const double bytes = requested + tensor_bytes(problem) - kv_bytes(problem);
    finding.figures["requested_share_most_frac"] =
        bytes / (one.measurement.median_us * 1e-6) / *bandwidth;
    finding.events = one.events;
    return;
  }
}

std::optional<Finding> launch_finding(const DerivedInput& input, const Evidence& evidence,
                                      const problem::Problem& problem) {
  if (evidence.device.units <= 0) return std::nullopt;
  const auto found = bounds_of(*input.rule, input.configuration, problem, evidence.device.units);
  if (!found) return std::nullopt;
  const catalogue::LaunchBounds& bounds = *found;
  const auto units = static_cast<double>(evidence.device.units);
  const auto share = [units](std::int64_t blocks) {
    return std::min(1.0, static_cast<double>(blocks) / units);
  };
  const auto range = [](std::int64_t least, std::int64_t most) {
    return least == most ? fmt::to_string(least) : fmt::format("{} to {}", least, most);
  };
  Finding finding;
  finding.analysis = "launch_rule";
  finding.problem = problem::label(problem);
  finding.statement = fmt::format(
      "derived, not measured: by the launch rule of {} {} has {} {} of {} query rows for {} {} on "
      "{}",
      input.rule->kernel, input.subject, range(bounds.blocks_least, bounds.blocks_most),
      evidence.device.backend == "cuda" ? "blocks" : "tasks",
      range(bounds.rows_least, bounds.rows_most), evidence.device.units, unit_word(evidence.device),
      finding.problem);
  finding.figures = {{"subject", input.subject},
                     {"blocks_least", bounds.blocks_least},
                     {"blocks_most", bounds.blocks_most},
                     {"units", evidence.device.units},
                     {"units_least_frac", share(bounds.blocks_least)},
                     {"units_most_frac", share(bounds.blocks_most)},
                     {"rows_least", bounds.rows_least},
                     {"rows_most", bounds.rows_most},
                     {"covers_heads", bounds.covers_heads},
                     {"walks_in_series", bounds.parts_most == 1}};
  const double requested = kv_requested_bytes(problem, bounds.rows_least);
  finding.figures["kv_redundancy_most"] = requested / kv_bytes(problem);
  finding.figures["kv_redundancy_least"] =
      kv_requested_bytes(problem, bounds.rows_most) / kv_bytes(problem);
  if (bounds.threads_least > 0) {
    const auto whole = [](std::int64_t threads) { return threads % k_warp_threads == 0; };
    finding.figures["whole_warps"] = whole(bounds.threads_least) && whole(bounds.threads_most);
    finding.figures["working_frac"] = bounds.working_frac;
  }
  add_waves(finding, *input.rule, bounds, units);
  add_demand(finding, input, evidence, problem, requested);
  finding.unseen = "the launch itself, which no tool saw";
  return finding;
}

}  // namespace

std::vector<Finding> derived_findings(const DerivedInput& input, const Evidence& evidence) {
  std::vector<Finding> findings;
  if (input.manifest == nullptr) return findings;
  if (auto found = configuration_finding(input, evidence)) findings.push_back(*std::move(found));
  if (input.rule == nullptr) return findings;
  for (const problem::Problem& problem : input.problems) {
    if (auto found = launch_finding(input, evidence, problem)) {
      findings.push_back(*std::move(found));
    }
  }
  return findings;
}

}  // namespace wb::analyze
