// SPDX-License-Identifier: MIT
#include "worker/peaks.hpp"

#include <cmath>

#include "measure/roofline.hpp"

namespace wb::worker {

using device::Device;

bool keep_higher_peaks(Device& device, const Device& again) {
  bool rose = false;
  for (const auto peak : {&Device::f32_flops_per_s, &Device::f16_flops_per_s,
                          &Device::bf16_flops_per_s, &Device::memory_bytes_per_s}) {
    auto& known = device.*peak;
    const auto& other = again.*peak;
    if (!known || !other || !std::isfinite(other->value) || !(other->value > known->value)) {
      continue;
    }
    known = other;
    rose = true;
  }
  return rose;
}

bool look_again_at_peaks(Device& device, const problem::Problem& problem, measure::PlanKind plan,
                         double median_us, int& looks_left, const std::function<Device()>& look) {
  // What is no time is refused whatever the peaks are.
  if (!(median_us > 0) || !std::isfinite(median_us)) return false;
  const auto work = problem::work(problem);
  const auto is_refused = [&] {
    const auto floor = measure::roofline_floor(device, problem, work);
    return measure::refuse_below_roofline(floor, plan, median_us).has_value();
  };
  bool rose = false;
  for (int i = 0; i < k_looks_at_peaks && looks_left > 0 && is_refused(); ++i) {
    --looks_left;
    rose = keep_higher_peaks(device, look()) || rose;
  }
  return rose;
}

}  // namespace wb::worker
