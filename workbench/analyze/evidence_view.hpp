// SPDX-License-Identifier: MIT
// Shared queries on the evidence. Private to analyze.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

[[nodiscard]] inline bool has_time(const measure::Observation& observation) {
  const double median_us = observation.measurement.median_us;
  return median_us > 0 && std::isfinite(median_us);
}

/// Bytes of the last-level cache, if known.
[[nodiscard]] inline std::optional<double> last_level_cache_bytes(const device::Device& device) {
  if (device.l3_bytes && device.l3_bytes->value > 0) return device.l3_bytes->value;
  if (device.l2_bytes && device.l2_bytes->value > 0) return device.l2_bytes->value;
  return std::nullopt;
}

[[nodiscard]] inline std::optional<double> known(const std::optional<device::DeviceFact>& fact) {
  if (!fact || !(fact->value > 0) || !std::isfinite(fact->value)) return std::nullopt;
  return fact->value;
}

/// Whether a plan's times can depend on main memory: cold always; hot and eager only if the
/// problem's tensors exceed the last-level cache. Nothing when unknown.
[[nodiscard]] inline std::optional<bool> shows_memory(measure::PlanKind plan,
                                                      const device::Device& device,
                                                      const problem::Work& demanded) {
  if (plan == measure::PlanKind::cold) return true;
  const auto cache_bytes = last_level_cache_bytes(device);
  if (!cache_bytes) return std::nullopt;
  return demanded.min_bytes > *cache_bytes;
}

/// The largest number of blocks of the launches that tools saw of that subject on that problem.
[[nodiscard]] inline std::optional<std::int64_t> most_blocks(
    const measure::Evidence& evidence, const measure::Observation& observation) {
  std::optional<std::int64_t> most;
  for (const measure::KernelFacts& kernel : evidence.kernels) {
    if (!kernel.problem || !kernel.blocks || kernel.subject != observation.subject) continue;
    if (problem::to_text(*kernel.problem) != problem::to_text(observation.problem)) continue;
    most = std::max(most.value_or(0), *kernel.blocks);
  }
  return most;
}

/// The main launch of a call: the one with the largest share of kernel time, else the most threads.
/// Null when no tool saw one (launch.cpp).
[[nodiscard]] const measure::KernelFacts* main_launch(const measure::Evidence& evidence,
                                                      const measure::Observation& observation);

/// True when the others are compared with this subject.
[[nodiscard]] inline bool is_reference(const measure::Evidence& evidence,
                                       std::string_view subject) {
  return std::any_of(evidence.beside.begin(), evidence.beside.end(),
                     [&](const measure::Observation& other) { return other.subject == subject; });
}

/// True when the evidence is about this subject: it was timed, or no subject was.
[[nodiscard]] inline bool is_observed(const measure::Evidence& evidence, std::string_view subject) {
  return evidence.observations.empty() ||
         std::any_of(evidence.observations.begin(), evidence.observations.end(),
                     [&](const measure::Observation& one) {
                       return one.subject == subject && has_time(one);
                     });
}

/// The plan to report when plans say much the same: hot if there is one.
[[nodiscard]] inline bool is_told_plan(const measure::Evidence& evidence, measure::PlanKind plan) {
  const bool has_hot = std::any_of(
      evidence.observations.begin(), evidence.observations.end(),
      [](const measure::Observation& one) { return one.plan == measure::PlanKind::hot; });
  return plan == measure::PlanKind::hot || !has_hot;
}

/// The name of a device's independent units.
[[nodiscard]] inline std::string_view unit_word(const device::Device& device) {
  if (device.backend == "cuda") return "SMs";
  return device.backend == "hip" ? "CUs" : "cores";
}

/// "32 KiB", "1.5 MiB": bytes of caches and tensors.
[[nodiscard]] inline std::string byte_words(double bytes) {
  const BinarySize size = binary_size(bytes, BinaryUnit::b, BinaryUnit::gib);
  return size.unit == "B" ? fmt::format("{:.0f} bytes", size.value)
                          : fmt::format("{:.4g} {}", size.value, size.unit);
}

}  // namespace wb::analyze
