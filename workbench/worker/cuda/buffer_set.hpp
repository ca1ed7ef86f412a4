// SPDX-License-Identifier: MIT
// DeviceBufferSet: one placement of a problem's tensors on a GPU, as worker/buffers.hpp has it for
// the CPU. For the subject's process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/cuda/gpu_inputs.hpp"
#include "worker/cuda/guarded_buffer.hpp"

namespace wb::worker::cuda {

struct BufferSetSizes {
  std::size_t workspace_bytes = 0;  ///< of the variant's plan
  bool with_lse = false;
};

class DeviceBufferSet {
 public:
  /// `placement` (from 0) shifts each tensor within its reservation by another amount. Zeroed.
  /// Errors: limit, with what all of it needs.
  static CudaResult<DeviceBufferSet> create(const Stream& stream, const Problem& problem,
                                            const BufferSetSizes& sizes, std::int64_t placement);
  /// Device memory that create() reserves.
  static std::size_t device_bytes(const Problem& problem, const BufferSetSizes& sizes,
                                  std::int64_t placement);

  /// Queues the filling of q, k, v and mask.
  [[nodiscard]] CudaResult<void> refill(const Stream& stream, const GpuInputs& inputs,
                                        std::uint32_t seed, Draw draw) const;
  /// The name of a tensor beside which something was written, or nullptr. Waits for the stream.
  [[nodiscard]] CudaResult<const char*> overrun(const Stream& stream) const;

  Problem problem;
  GuardedDeviceBuffer q, k, v, mask, out, lse, workspace;  ///< mask, lse, workspace may be empty

 private:
  explicit DeviceBufferSet(const Problem& of) : problem(of) {}
};

}  // namespace wb::worker::cuda
