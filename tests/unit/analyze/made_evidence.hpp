// SPDX-License-Identifier: MIT
// Evidence for the tests of analyses: a device with round peaks and observations by problem text.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.hpp"

namespace wb::made {

/// 1 TFLOP/s in f32, 4 in f16, 100 GB/s, 16 units, 1 MB of last-level cache; bf16 unknown.
inline device::Device device() {
  device::Device device;
  device.backend = "cpu";
  device.name = "made up";
  device.units = 16;
  device.f32_flops_per_s = {1e12, "calibrated"};
  device.f16_flops_per_s = {4e12, "calibrated"};
  device.memory_bytes_per_s = {1e11, "calibrated"};
  device.l3_bytes = {1e6, "sysfs"};
  return device;
}

inline measure::Observation observation(std::string_view problem, double median_us,
                                        measure::PlanKind plan = measure::PlanKind::hot,
                                        std::string subject = "cpu_tiled",
                                        std::vector<std::int64_t> events = {1}) {
  auto parsed = problem::parse_problem(problem);
  if (!parsed.ok()) throw std::logic_error(parsed.error().message());
  measure::Observation result;
  result.problem = *std::move(parsed);
  result.subject = std::move(subject);
  result.plan = plan;
  result.measurement.median_us = median_us;
  result.events = std::move(events);
  return result;
}

inline std::vector<measure::Finding> run(std::string_view analysis,
                                         const measure::Evidence& evidence) {
  for (const analyze::Analysis& candidate : analyze::analyses()) {
    if (candidate.name == analysis) return candidate.run(evidence);
  }
  throw std::logic_error("no such analysis");
}

}  // namespace wb::made
