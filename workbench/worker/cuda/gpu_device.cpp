// SPDX-License-Identifier: MIT
#include "worker/cuda/gpu_device.hpp"

#include <fmt/format.h>

namespace wb::worker::cuda {

using wb::device::Device;
using wb::device::DeviceFact;

CudaResult<Device> describe_gpu(const Context& context) {
  const std::string source =
      fmt::format("driver for CUDA {}", driver_version_text(context.driver().version()));
  Device device = wb::device::known_gpu(context.name()).value_or(Device{});
  device.backend = "cuda";
  device.name = context.name();
  WB_TRY_ASSIGN(device.id, context.uuid());
  device.architecture = fmt::format("sm_{}", context.capability());
  device.units = context.multiprocessors();
  device.l2_bytes = DeviceFact{static_cast<double>(context.l2_bytes()), source};
  WB_TRY_ASSIGN(const int shared_bytes, context.attribute(Attribute::shared_bytes_per_unit));
  device.shared_bytes_per_unit = DeviceFact{static_cast<double>(shared_bytes), source};
  WB_TRY_ASSIGN(const DeviceMemory memory, context.memory());
  device.memory_bytes = DeviceFact{static_cast<double>(memory.total_bytes), source};
  return device;
}

}  // namespace wb::worker::cuda
