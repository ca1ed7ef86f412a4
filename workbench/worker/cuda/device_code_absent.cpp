// SPDX-License-Identifier: MIT
// Compiled instead of the embedded images when the build found no CUDA compiler.
#include "worker/cuda/device_code.hpp"

namespace wb::worker::cuda {

CudaResult<DeviceCode> device_code() {
  return Fault{{ErrorCode::environment, "use a GPU with", "this worker",
                "built without CUDA device code",
                "build it where nvcc of CUDA 12.4 or newer is, with WB_CUDA=ON"}};
}

}  // namespace wb::worker::cuda
