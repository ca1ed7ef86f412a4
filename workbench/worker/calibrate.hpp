// SPDX-License-Identifier: MIT
// Calibration: the peak arithmetic rates and memory bandwidth of these CPUs, measured at hello.
// They bound possible times (roofline refusal), so each thread's best short window counts.
#pragma once

#include <vector>

#include "device/device.hpp"

namespace wb::worker {

/// Fills in f32, f16, bf16 and memory peaks, in about 200 ms on one thread per CPU of `cpus`. A
/// format for which the CPU has matrix units that are not calibrated here (AMX, AVX512-FP16) stays
/// unknown: a floor that is too high would refuse honest kernels.
void calibrate(device::Device& device, const std::vector<int>& cpus);

}  // namespace wb::worker
