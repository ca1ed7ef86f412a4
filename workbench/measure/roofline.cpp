// SPDX-License-Identifier: MIT
#include "measure/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "problem/inputs.hpp"

namespace wb::measure {
namespace {

constexpr double k_us_per_s = 1e6;

double time_at_peak_us(double amount, const std::optional<device::DeviceFact>& peak_per_s) {
  if (!peak_per_s || !(peak_per_s->value > 0) || !std::isfinite(peak_per_s->value)) return 0;
  return amount / peak_per_s->value * k_us_per_s;
}

}  // namespace

double RooflineFloor::floor_us(PlanKind plan) const {
  return plan == PlanKind::cold ? std::max(least_flop_us, byte_us) : least_flop_us;
}

RooflineFloor roofline_floor(const device::Device& device, const problem::Problem& problem,
                             const problem::Work& work) {
  RooflineFloor floor;
  // The output may still be in a cache when the clock stops, so only reads must have moved.
  const double read_bytes = work.min_bytes - static_cast<double>(problem::out_bytes(problem));
  floor.byte_us = time_at_peak_us(std::max(read_bytes, 0.0), device.memory_bytes_per_s);
  floor.flop_us = time_at_peak_us(work.flops, device::peak_flops_per_s(device, problem.dtype));
  floor.least_flop_us = floor.flop_us;
  if (floor.flop_us > 0) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      const double other_us = time_at_peak_us(work.flops, device::peak_flops_per_s(device, dtype));
      if (other_us > 0) floor.least_flop_us = std::min(floor.least_flop_us, other_us);
    }
  }
  if (floor.flop_us > 0 || floor.byte_us > 0) {
    floor.limiting = floor.flop_us >= floor.byte_us ? "flops" : "bytes";
  } else {
    floor.limiting = "unknown";
  }
  return floor;
}

std::optional<std::string> refuse_below_roofline(const RooflineFloor& floor, PlanKind plan,
                                                 double median_us) {
  if (!(median_us > 0) || !std::isfinite(median_us)) {
    return fmt::format("{} us is no time", median_us);
  }
  const double floor_us = floor.floor_us(plan);
  if (!(median_us < floor_us * (1 - k_roofline_tolerance_frac))) return std::nullopt;
  const bool by_flops = plan != PlanKind::cold || floor.least_flop_us >= floor.byte_us;
  return fmt::format(
      "{:.4g} us is faster than the device can {}: at its peak the {} alone take "
      "{:.4g} us",
      median_us, by_flops ? "compute" : "move memory",
      by_flops ? "floating-point operations" : "bytes", floor_us);
}

}  // namespace wb::measure
