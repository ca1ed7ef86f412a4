// SPDX-License-Identifier: MIT
// A GPU's facts as a Device: from its driver, and from the table what drivers do not report.
#pragma once

#include "device/device.hpp"
#include "worker/cuda/context.hpp"

namespace wb::worker::cuda {

/// Peaks and bandwidth are unknown for a GPU that is not in the table (device/gpu_table.cpp).
CudaResult<wb::device::Device> describe_gpu(const Context& context);

}  // namespace wb::worker::cuda
