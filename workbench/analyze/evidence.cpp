// SPDX-License-Identifier: MIT
#include "analyze/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "measure/launches.hpp"
#include "problem/attention.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::KernelFacts;

namespace {

constexpr std::int64_t k_max_product = std::int64_t{1} << 50;  // more blocks than any grid has
constexpr double k_max_count = 1e15;

/// "(8, 32, 1)" -> 256. Nothing when a size is missing, not positive, or implausibly large.
std::optional<std::int64_t> product_of(std::string_view sizes) {
  std::int64_t product = 1;
  int read = 0;
  for (std::size_t at = 0; at < sizes.size();) {
    const auto digit = sizes.find_first_of("0123456789-", at);
    if (digit == std::string_view::npos) break;
    std::int64_t size = 0;
    const auto [end, error] =
        std::from_chars(sizes.data() + digit, sizes.data() + sizes.size(), size);
    if (error != std::errc() || size < 1 || size > k_max_product / product) return std::nullopt;
    product *= size;
    ++read;
    at = static_cast<std::size_t>(end - sizes.data());
  }
  return read >= 1 && read <= 3 ? std::optional(product) : std::nullopt;
}

/// ncu's numeric metrics, by "name [unit]".
std::map<std::string, double> numbers_of(const Json& launch) {
  std::map<std::string, double> numbers;
  const Json& metrics = member_of(launch, "metrics");
  if (!metrics.is_object()) return numbers;
  for (const auto& [key, metric] : metrics.items()) {
    const Json& value = member_of(metric, "value");
    if (!value.is_number()) continue;
    const std::string name = key.substr(0, key.find(" ["));
    numbers[name + " [" + text_of(metric, "unit") + "]"] = value.get<double>();
  }
  return numbers;
}

std::optional<std::int64_t> count_of(const std::map<std::string, double>& numbers,
                                     const char* name) {
  const auto found = numbers.find(name);
  if (found == numbers.end() || !(found->second >= 0) || !(found->second < k_max_count)) {
    return std::nullopt;
  }
  return std::llround(found->second);
}

/// Each launch's share of the durations, if every launch has one.
void add_shares(std::span<KernelFacts> kernels) {
  double whole = 0;
  for (const KernelFacts& kernel : kernels) {
    const auto found = kernel.metrics.find("Duration [ns]");
    if (found == kernel.metrics.end() || !(found->second > 0)) return;
    whole += found->second;
  }
  for (KernelFacts& kernel : kernels) {
    kernel.share_frac = kernel.metrics.at("Duration [ns]") / whole;
  }
}

}  // namespace

void add_launches(Evidence& evidence, const Json& launches, const std::string& subject,
                  const problem::Problem& problem, const std::string& source,
                  const std::vector<std::int64_t>& events) {
  if (!launches.is_array()) return;
  const std::size_t first = evidence.kernels.size();
  for (const Json& launch : launches) {
    if (!launch.is_object()) continue;
    KernelFacts kernel;
    kernel.subject = subject;
    kernel.kernel = text_of(launch, "kernel");
    kernel.source = source;
    kernel.problem = problem;
    kernel.blocks = product_of(text_of(launch, "grid"));
    if (kernel.blocks) kernel.grid = text_of(launch, "grid");
    kernel.threads_per_block = product_of(text_of(launch, "block"));
    if (kernel.threads_per_block) kernel.block = text_of(launch, "block");
    kernel.metrics = numbers_of(launch);
    kernel.registers = count_of(kernel.metrics, "Registers Per Thread [register/thread]");
    kernel.static_shared_bytes =
        count_of(kernel.metrics, "Static Shared Memory Per Block [byte/block]");
    kernel.dynamic_shared_bytes =
        count_of(kernel.metrics, "Dynamic Shared Memory Per Block [byte/block]");
    if (const Json& share = member_of(launch, "share_frac"); share.is_number()) {
      kernel.share_frac = share.get<double>();
    }
    for (const Json& one : list_of(launch, "advice")) {
      if (one.is_object()) kernel.advice.push_back(text_of(one, "text"));
    }
    kernel.events = events;
    evidence.kernels.push_back(std::move(kernel));
  }
  add_shares(std::span(evidence.kernels).subspan(first));
}

void add_profile(Evidence& evidence, const Json& payload, std::int64_t event) {
  if (!payload.is_object()) return;
  const std::string named = text_of(payload, "tool");
  const std::string tool = named.empty() ? "ncu" : named;  // older logs name no tool
  if (tool != "ncu" && tool != "torch.profiler") return;
  const std::string subject = text_of(payload, "subject");
  if (!is_true(payload, "available")) {
    evidence.blind_spots.push_back({subject, tool, text_of(payload, "reason"), {event}});
    return;
  }
  const auto problem = problem::parse_problem(text_of(payload, "problem"));
  const Json& records = member_of(payload, "records");
  if (!problem.ok() || !records.is_object()) return;
  add_launches(evidence, list_of(records, "launches"), subject, *problem, tool, {event});
}

void add_recorded_launches(Evidence& evidence, const Json& payload, std::int64_t event) {
  const std::string subject = text_of(payload, "subject");
  const auto problem = problem::parse_problem(text_of(payload, "problem"));
  const auto launches = measure::launches_from_json(list_of(payload, "launches"));
  if (subject.empty() || !problem.ok() || !launches.ok()) return;
  const std::string text = problem::to_text(*problem);
  const bool is_known =
      std::any_of(evidence.kernels.begin(), evidence.kernels.end(), [&](const KernelFacts& kernel) {
        return kernel.subject == subject && kernel.problem && kernel.blocks &&
               problem::to_text(*kernel.problem) == text;
      });
  if (is_known) return;
  for (const measure::KernelLaunch& launch : *launches) {
    KernelFacts kernel;
    kernel.subject = subject;
    kernel.kernel = launch.kernel;
    kernel.source = k_recorded_source;
    kernel.problem = *problem;
    kernel.grid = measure::size_text(launch.grid);
    kernel.block = measure::size_text(launch.block);
    kernel.blocks = product_of(kernel.grid);
    kernel.threads_per_block = product_of(kernel.block);
    kernel.registers = launch.registers;
    kernel.static_shared_bytes = launch.static_shared_bytes;
    kernel.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    kernel.blocks_per_unit = launch.blocks_per_sm;
    // The only launch of a call is all of it; of several nothing tells the durations.
    if (launches->size() == 1 && launch.per_call == 1) kernel.share_frac = 1.0;
    kernel.events = {event};
    evidence.kernels.push_back(std::move(kernel));
  }
}

void add_ptxas(Evidence& evidence, const variant::PtxasRecord& record, const std::string& subject,
               const std::vector<std::int64_t>& events) {
  for (const variant::KernelResources& resources : record.kernels) {
    KernelFacts kernel;
    kernel.subject = subject;
    kernel.kernel = resources.kernel;
    kernel.source = "ptxas";
    kernel.registers = resources.registers;
    kernel.static_shared_bytes = resources.shared_bytes;
    kernel.events = events;
    evidence.kernels.push_back(std::move(kernel));
  }
}

bool has_time(const measure::Observation& observation) {
  const double median_us = observation.measurement.median_us;
  return median_us > 0 && std::isfinite(median_us);
}

std::optional<double> last_level_cache_bytes(const device::Device& device) {
  if (device.l3_bytes && device.l3_bytes->value > 0) return device.l3_bytes->value;
  if (device.l2_bytes && device.l2_bytes->value > 0) return device.l2_bytes->value;
  return std::nullopt;
}

std::optional<double> known(const std::optional<device::DeviceFact>& fact) {
  if (!fact || !(fact->value > 0) || !std::isfinite(fact->value)) return std::nullopt;
  return fact->value;
}

std::optional<bool> shows_memory(measure::PlanKind plan, const device::Device& device,
                                 const problem::Work& demanded) {
  if (plan == measure::PlanKind::cold) return true;
  const auto cache_bytes = last_level_cache_bytes(device);
  if (!cache_bytes) return std::nullopt;
  return demanded.min_bytes > *cache_bytes;
}

std::optional<std::int64_t> most_blocks(const measure::Evidence& evidence,
                                        const measure::Observation& observation) {
  std::optional<std::int64_t> most;
  for (const measure::KernelFacts& kernel : evidence.kernels) {
    if (!kernel.problem || !kernel.blocks || kernel.subject != observation.subject) continue;
    if (problem::to_text(*kernel.problem) != problem::to_text(observation.problem)) continue;
    most = std::max(most.value_or(0), *kernel.blocks);
  }
  return most;
}

bool is_persistent(std::int64_t blocks, const measure::BlockBounds& tiles, std::int64_t units) {
  // Clusters may leave a few units without a block.
  constexpr std::int64_t k_filled_percent = 90;
  return blocks < tiles.least && 100 * blocks >= k_filled_percent * units;
}

CallBlocks blocks_of(const measure::Evidence& evidence, const measure::Observation& observation) {
  const problem::Problem& problem = observation.problem;
  const auto rule = evidence.blocks_by_rule.find({observation.subject, problem::to_text(problem)});
  const bool has_rule = rule != evidence.blocks_by_rule.end();
  const std::int64_t least = has_rule ? rule->second.least : 0,
                     most = has_rule ? rule->second.most : 0;
  const std::string count =
      least == most ? fmt::to_string(least) : fmt::format("{} to {}", least, most);
  if (const auto seen = most_blocks(evidence, observation)) {
    const std::string words = fmt::format("a launch of {} block{}", *seen, *seen == 1 ? "" : "s");
    if (has_rule && is_persistent(*seen, rule->second, evidence.device.units)) {
      return {least, most, CallBlocks::Source::launch, words + " that take " + count + " tiles"};
    }
    return {*seen, *seen, CallBlocks::Source::launch, words};
  }
  if (has_rule) {
    return {least, most, CallBlocks::Source::rule,
            fmt::format("{} {} by its launch rule", count,
                        evidence.device.backend == "cuda" ? "blocks" : "tasks")};
  }
  const std::int64_t blocks = problem::row_block_count(problem);
  return {
      blocks, blocks, CallBlocks::Source::rows,
      fmt::format("{} head{} x {} row{}", problem.B * problem.Hq,
                  problem.B * problem.Hq == 1 ? "" : "s", problem.Sq, problem.Sq == 1 ? "" : "s")};
}

bool is_reference(const measure::Evidence& evidence, std::string_view subject) {
  return std::any_of(evidence.beside.begin(), evidence.beside.end(),
                     [&](const measure::Observation& other) { return other.subject == subject; });
}

bool is_observed(const measure::Evidence& evidence, std::string_view subject) {
  return evidence.observations.empty() ||
         std::any_of(evidence.observations.begin(), evidence.observations.end(),
                     [&](const measure::Observation& one) {
                       return one.subject == subject && has_time(one);
                     });
}

bool is_told_plan(const measure::Evidence& evidence, measure::PlanKind plan) {
  const bool has_hot = std::any_of(
      evidence.observations.begin(), evidence.observations.end(),
      [](const measure::Observation& one) { return one.plan == measure::PlanKind::hot; });
  return plan == measure::PlanKind::hot || !has_hot;
}

std::string_view unit_word(const device::Device& device) {
  if (device.backend == "cuda") return "SMs";
  return device.backend == "hip" ? "CUs" : "cores";
}

std::string byte_words(double bytes) {
  const BinarySize size = binary_size(bytes, BinaryUnit::b, BinaryUnit::gib);
  return size.unit == "B" ? fmt::format("{:.0f} bytes", size.value)
                          : fmt::format("{:.4g} {}", size.value, size.unit);
}

}  // namespace wb::analyze
