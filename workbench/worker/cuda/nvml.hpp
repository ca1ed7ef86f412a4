// SPDX-License-Identifier: MIT
// NVML, loaded at run time. Its failures are no errors: what is missing, unsupported or not
// permitted is returned as the reason why a figure is absent. Used by GpuMonitor.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "worker/cuda/nvml_api.hpp"

namespace wb::worker::cuda {

inline constexpr const char* k_nvml_library = "libnvidia-ml.so.1";

class Nvml;
using NvmlPtr = std::shared_ptr<const Nvml>;

class Nvml {
 public:
  /// Errors: not_found (no such library, or one without nvmlInit_v2), environment (it does not
  /// start).
  static Result<NvmlPtr> load(const char* library = k_nvml_library);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  [[nodiscard]] const NvmlFunctions& functions() const { return m_functions; }
  /// Why a function gave nothing, in the library's words: "Not Supported (3)". `is_there`: whether
  /// the library has the function.
  [[nodiscard]] std::string reason(bool is_there, NvmlStatus status) const;

 private:
  explicit Nvml(void* library) : m_library(library) {}
  void find_functions();

  void* m_library;
  NvmlFunctions m_functions;
  bool m_is_started = false;
};

}  // namespace wb::worker::cuda
