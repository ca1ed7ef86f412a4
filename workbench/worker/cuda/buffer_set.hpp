// SPDX-License-Identifier: MIT
// DeviceBufferSet: one placement of a problem's tensors on a GPU, the counterpart of
// worker/buffers.hpp, and the arguments of a variant's call on it. Used in the subject's process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "problem/call_form.hpp"
#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/gpu_inputs.hpp"

struct wb_sdpa_args;  // common/sdpa_abi.h, which callers of args_of() include

namespace wb::worker::cuda {

struct BufferSetSizes {
  std::size_t workspace_bytes = 0;  ///< required by the variant's plan
  bool with_lse = false;
  problem::CallForm form = {};  ///< the tensors as views
};

/// The judge's memory that a subject has mapped; empty without any.
struct BorrowedOutputs {
  SharedBuffer out, lse;
};

/// Where out and lse of a placement lie in their own memory: reserved size, offset and size.
struct OutputPlace {
  std::size_t reserved_bytes = 0, offset = 0, size_bytes = 0;
};
struct OutputPlaces {
  OutputPlace out, lse;  ///< all 0 without one
  OutputPlace snap;      ///< for timed calls: the copy of out after the last of them
};
OutputPlaces output_places(const problem::Problem& problem, bool with_lse, bool with_snap,
                           std::int64_t placement);

class DeviceBufferSet {
 public:
  /// `placement` (from 0) shifts each tensor within its reservation by a different amount. Memory
  /// is zeroed, except outputs in `borrowed` memory. Errors: limit, with the total required.
  static CudaResult<DeviceBufferSet> create(const Stream& stream, const problem::Problem& problem,
                                            const BufferSetSizes& sizes, std::int64_t placement,
                                            BorrowedOutputs borrowed = {});
  /// Device memory that create() reserves.
  static std::size_t device_bytes(const problem::Problem& problem, const BufferSetSizes& sizes,
                                  std::int64_t placement);

  /// Queues the filling of q, k, v and mask.
  [[nodiscard]] CudaResult<void> refill(const Stream& stream, const GpuInputs& inputs,
                                        std::uint32_t seed, problem::Draw draw) const;
  /// Copies the elements of out from and to packed host memory. Waits for the stream.
  [[nodiscard]] CudaResult<void> put_out(const Stream& stream,
                                         std::span<const std::byte> packed) const;
  [[nodiscard]] CudaResult<void> take_out(const Stream& stream, std::span<std::byte> packed) const;
  /// The name of a tensor with a write outside it, or nullptr. Waits for the stream.
  [[nodiscard]] CudaResult<const char*> overrun(const Stream& stream) const;

  problem::Problem problem;
  problem::CallForm form;
  GuardedDeviceBuffer q, k, v, mask, out, lse, workspace;  ///< mask, lse, workspace may be empty

 private:
  DeviceBufferSet(const problem::Problem& of, const problem::CallForm& called)
      : problem(of), form(called) {}
};

/// For the tensors of `buffers`, queued on `stream`; one host thread.
wb_sdpa_args args_of(const DeviceBufferSet& buffers, const Stream& stream);

}  // namespace wb::worker::cuda
