// SPDX-License-Identifier: MIT
#include "measure/floors.hpp"

#include <fmt/format.h>

#include <cmath>

#include "measure/quantiles.hpp"

namespace wb::measure {

std::optional<std::string> unfit_reason(const NoiseFloor& floor, bool disturbed) {
  if (!std::isfinite(floor.floor_frac)) {
    return "it has no figure" + (floor.reason.empty() ? std::string() : ": " + floor.reason);
  }
  if (disturbed) return "other work used the machine while it was taken";
  if (floor.floor_frac > k_most_floor_frac) {
    return fmt::format("two sets of processes of the same code differed by {:.1f} %",
                       100 * floor.floor_frac);
  }
  if (floor.between_instance_frac > k_most_between_frac) {
    return fmt::format("single processes of the same code may differ by {:.0f} %",
                       100 * floor.between_instance_frac);
  }
  return std::nullopt;
}

double smallest_gain_frac(const NoiseFloor& floor, std::int64_t instances) {
  if (instances < 2 || !std::isfinite(floor.floor_frac) || !std::isfinite(floor.instance_sd_frac)) {
    return k_unknown;
  }
  const auto n = static_cast<double>(instances);
  const double half = student_t_quantile(0.995, n - 1) * floor.instance_sd_frac * std::sqrt(2 / n);
  return (1 + floor.floor_frac) * std::exp(half) - 1;
}

}  // namespace wb::measure
