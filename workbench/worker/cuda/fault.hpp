// SPDX-License-Identifier: MIT
// Fault: an Error that also keeps what the CUDA driver answered, so that a caller can tell whether
// this process may go on. A CudaResult turns into a Result where only the message matters.
#pragma once

#include "core/error.hpp"
#include "worker/cuda/driver_api.hpp"

namespace wb::worker::cuda {

/// After these every later call of the process fails alike: the context is lost and only a new
/// process helps (the driver's documentation of each; measured for illegal_address).
bool ends_process(Status status);

struct Fault : Error {
  Status status = Status::success;  ///< success where the driver was not asked
  [[nodiscard]] bool ends_process() const { return cuda::ends_process(status); }
};

template <typename T>
using CudaResult = Expected<T, Fault>;

}  // namespace wb::worker::cuda
