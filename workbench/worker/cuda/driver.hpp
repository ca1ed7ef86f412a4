// SPDX-License-Identifier: MIT
// Driver: this machine's CUDA driver library, loaded at run time; nothing links to CUDA. Everything
// in this folder starts from a loaded Driver, which lives as long as its users.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "worker/cuda/driver_api.hpp"
#include "worker/cuda/fault.hpp"

namespace wb::worker::cuda {

/// The oldest accepted driver, in the form of cuDriverGetVersion: CUDA 12.4. Device code comes from
/// a toolkit of 12.4 or newer, whose PTX (ISA 8.4) older drivers cannot compile.
inline constexpr int k_oldest_driver = 12040;

class Driver {
 public:
  /// Loads and initializes the library. Errors: not_found (no such library, or a missing CUDA
  /// function), environment (older than k_oldest_driver, no device, or it does not start).
  static CudaResult<std::shared_ptr<const Driver>> load(const char* library = "libcuda.so.1");
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] const DriverFunctions& functions() const { return m_functions; }
  [[nodiscard]] int version() const { return m_version; }

  /// Turns a status into a result: "cannot <attempted> <subject>: CUDA_ERROR_... (700): words".
  /// Success costs nothing, because calls are checked inside timed regions.
  [[nodiscard]] CudaResult<void> check(Status status, std::string_view attempted,
                                       std::string_view subject) const {
    if (status == Status::success) return {};
    return fault(status, attempted, subject);
  }

 private:
  explicit Driver(void* library) : m_library(library) {}
  [[nodiscard]] Fault fault(Status status, std::string_view attempted,
                            std::string_view subject) const;
  [[nodiscard]] CudaResult<void> find_functions(const char* library);
  [[nodiscard]] CudaResult<void> find_version(const char* library);

  void* m_library;
  DriverFunctions m_functions;
  int m_version = 0;
};
using DriverPtr = std::shared_ptr<const Driver>;

/// "12.4" of 12040.
std::string driver_version_text(int version);

}  // namespace wb::worker::cuda
