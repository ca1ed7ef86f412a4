// SPDX-License-Identifier: MIT
// Small questions that several analyses ask of the evidence. Private to analyze.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "measure/finding.hpp"

namespace wb {

[[nodiscard]] inline bool has_time(const Observation& observation) {
  const double median_us = observation.measurement.median_us;
  return median_us > 0 && std::isfinite(median_us);
}

/// Bytes of the last cache before memory, when known.
[[nodiscard]] inline std::optional<double> last_level_cache_bytes(const Device& device) {
  if (device.l3_bytes && device.l3_bytes->value > 0) return device.l3_bytes->value;
  if (device.l2_bytes && device.l2_bytes->value > 0) return device.l2_bytes->value;
  return std::nullopt;
}

[[nodiscard]] inline std::optional<double> known(const std::optional<DeviceFact>& fact) {
  if (!fact || !(fact->value > 0) || !std::isfinite(fact->value)) return std::nullopt;
  return fact->value;
}

/// Whether this plan can show what main memory does: cold always; hot and eager only when the
/// problem's tensors do not fit in the last-level cache. Nothing when that is not known.
[[nodiscard]] inline std::optional<bool> shows_memory(PlanKind plan, const Device& device,
                                                      const Work& demanded) {
  if (plan == PlanKind::cold) return true;
  const auto cache_bytes = last_level_cache_bytes(device);
  if (!cache_bytes) return std::nullopt;
  return demanded.min_bytes > *cache_bytes;
}

}  // namespace wb
