// SPDX-License-Identifier: MIT
#include "verbs/figure_change.hpp"

#include <cmath>

#include "core/json.hpp"
#include "engine/recorded.hpp"

namespace wb::verbs {

using engine::member_of;
using engine::number_of;
using measure::Comparison;

Comparison comparison_of(const Json& payload) {
  const Json& interval = member_of(payload, "interval");
  Comparison comparison;
  comparison.speedup = number_of(payload, "speedup").value_or(std::nan(""));
  comparison.interval = {number_of(interval, "low").value_or(std::nan("")),
                         number_of(interval, "high").value_or(std::nan("")),
                         number_of(interval, "confidence").value_or(0.99)};
  comparison.noise_floor_frac = number_of(payload, "noise_floor_frac").value_or(0.0);
  return comparison;
}

Comparison change_between(const Comparison& before, const Comparison& after) {
  Comparison change;
  change.speedup = after.speedup / before.speedup;
  change.interval = {std::nan(""), std::nan(""), after.interval.confidence};
  change.noise_floor_frac = std::hypot(before.noise_floor_frac, after.noise_floor_frac);
  if (measure::is_valid(before.interval) && measure::is_valid(after.interval) &&
      change.speedup > 0) {
    const auto part = [](double a, double b) { return std::log(a / b); };
    const double down = std::hypot(part(after.speedup, after.interval.low),
                                   part(before.interval.high, before.speedup));
    const double up = std::hypot(part(after.interval.high, after.speedup),
                                 part(before.speedup, before.interval.low));
    change.interval.low = change.speedup * std::exp(-down);
    change.interval.high = change.speedup * std::exp(up);
  }
  change.outcome =
      measure::classify(change.interval, change.noise_floor_frac, change.noise_floor_frac);
  return change;
}

}  // namespace wb::verbs
