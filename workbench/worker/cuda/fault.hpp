// SPDX-License-Identifier: MIT
// Fault: an Error with the CUDA driver's status, so that a caller can tell whether this process can
// continue. A CudaResult converts to a Result where only the message matters.
#pragma once

#include "core/error.hpp"
#include "worker/cuda/driver_api.hpp"

namespace wb::worker::cuda {

/// True for statuses after which all later calls of the process fail: the context is lost, and only
/// a new process helps (by the driver's documentation; measured for illegal_address).
bool ends_process(Status status);

struct Fault : Error {
  Status status = Status::success;  ///< success when the driver was not called
  [[nodiscard]] bool ends_process() const { return cuda::ends_process(status); }
};

template <typename T>
using CudaResult = Expected<T, Fault>;

}  // namespace wb::worker::cuda
