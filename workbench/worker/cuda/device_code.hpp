// SPDX-License-Identifier: MIT
// The workbench's device code, embedded by the build (WB_CUDA): one image per source file of
// worker/cuda/device, with machine code for common GPUs and PTX for others.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "worker/cuda/driver.hpp"

namespace wb::worker::cuda {

struct DeviceCode {
  std::string_view about;  ///< "CUDA 13.0: sm_80 sm_89 sm_90 sm_100 compute_80"
  std::span<const std::byte> inputs, oracle, standard, errors, timing, canary;
};

/// Errors: environment when this worker was built without device code.
CudaResult<DeviceCode> device_code();

}  // namespace wb::worker::cuda
