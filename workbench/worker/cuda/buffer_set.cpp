// SPDX-License-Identifier: MIT
#include "worker/cuda/buffer_set.hpp"

#include <fmt/format.h>

#include <array>

#include "worker/secret.hpp"

namespace wb::worker::cuda {
namespace {

constexpr std::size_t k_alignment = 256;  // of the kernel ABI
constexpr std::size_t k_shifts = 256;     // 64 KiB: what one page of the device holds

struct Part {
  const char* name;
  GuardedDeviceBuffer DeviceBufferSet::*buffer;
  std::size_t size_bytes;
};

std::array<Part, 7> parts_of(const Problem& problem, const BufferSetSizes& sizes) {
  const auto rows = static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq);
  return {{{"q", &DeviceBufferSet::q, tensor_bytes(problem, Tensor::q)},
           {"k", &DeviceBufferSet::k, tensor_bytes(problem, Tensor::k)},
           {"v", &DeviceBufferSet::v, tensor_bytes(problem, Tensor::v)},
           {"mask", &DeviceBufferSet::mask, tensor_bytes(problem, Tensor::mask)},
           {"out", &DeviceBufferSet::out, out_bytes(problem)},
           {"lse", &DeviceBufferSet::lse, sizes.with_lse ? rows * sizeof(float) : 0},
           {"the workspace", &DeviceBufferSet::workspace, sizes.workspace_bytes}}};
}

/// Another one for each tensor and placement; none for the first placement.
std::size_t shift_of(std::int64_t placement, std::size_t part) {
  const auto number = static_cast<std::size_t>(placement);
  return number * (2 * part + 37) % k_shifts * k_alignment;
}

}  // namespace

std::size_t DeviceBufferSet::device_bytes(const Problem& problem, const BufferSetSizes& sizes,
                                          std::int64_t placement) {
  std::size_t bytes = 0, number = 0;
  for (const Part& part : parts_of(problem, sizes)) {
    bytes += GuardedDeviceBuffer::reserved_bytes(part.size_bytes, shift_of(placement, number++));
  }
  return bytes;
}

CudaResult<DeviceBufferSet> DeviceBufferSet::create(const Stream& stream, const Problem& problem,
                                                    const BufferSetSizes& sizes,
                                                    std::int64_t placement) {
  DeviceBufferSet set(problem);
  std::size_t number = 0;
  for (const Part& part : parts_of(problem, sizes)) {
    auto buffer = GuardedDeviceBuffer::create(
        stream, part.size_bytes, shift_of(placement, number++), draw_secret<std::uint64_t>());
    if (!buffer.ok()) {
      Fault fault = std::move(buffer).error();
      fault.subject = fmt::format("{} for {} of {} ({} bytes in all)", fault.subject, part.name,
                                  to_text(problem), device_bytes(problem, sizes, placement));
      return fault;
    }
    set.*part.buffer = *std::move(buffer);
  }
  return set;
}

CudaResult<void> DeviceBufferSet::refill(const Stream& stream, const GpuInputs& inputs,
                                         std::uint32_t seed, Draw draw) const {
  WB_TRY(inputs.fill(stream, problem, seed, Tensor::q, draw, q.address()));
  WB_TRY(inputs.fill(stream, problem, seed, Tensor::k, draw, k.address()));
  WB_TRY(inputs.fill(stream, problem, seed, Tensor::v, draw, v.address()));
  return inputs.fill(stream, problem, seed, Tensor::mask, draw, mask.address());
}

CudaResult<const char*> DeviceBufferSet::overrun(const Stream& stream) const {
  for (const Part& part : parts_of(problem, {})) {
    WB_TRY_ASSIGN(const bool intact, (this->*part.buffer).margins_intact(stream));
    if (!intact) return part.name;
  }
  return static_cast<const char*>(nullptr);
}

}  // namespace wb::worker::cuda
