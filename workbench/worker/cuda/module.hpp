// SPDX-License-Identifier: MIT
// Module and Kernel: device code in a context. The workbench's own is embedded in the worker
// (device_code.hpp); each kernel takes one struct of parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "worker/cuda/context.hpp"

namespace wb::worker::cuda {

struct Grid {
  std::int64_t x = 1, y = 1;  ///< thread blocks; y at most 65,535
  int threads = 1;            ///< per block
};

class Module;

/// Keeps its module loaded.
class Kernel {
 public:
  /// Queues the kernel; `parameters` must have the kernel's parameter type.
  template <typename Parameters>
  [[nodiscard]] CudaResult<void> launch(const Stream& stream, const Grid& grid,
                                        const Parameters& parameters) const {
    return launch_raw(stream, grid, &parameters);
  }

 private:
  friend class Module;
  Kernel(std::shared_ptr<const Module> module, KernelHandle handle, std::string name)
      : m_module(std::move(module)), m_handle(handle), m_name(std::move(name)) {}
  [[nodiscard]] CudaResult<void> launch_raw(const Stream& stream, const Grid& grid,
                                            const void* parameters) const;
  std::shared_ptr<const Module> m_module;
  KernelHandle m_handle;
  std::string m_name;
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  /// `image` is a cubin, a fatbin or PTX text ending in 0; `name` is for messages. Errors:
  /// environment (it has no code for this device and driver).
  static CudaResult<std::shared_ptr<const Module>> load(ContextPtr context,
                                                        std::span<const std::byte> image,
                                                        std::string name);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  [[nodiscard]] CudaResult<Kernel> kernel(const char* name) const;

 private:
  Module(ContextPtr context, ModuleHandle handle, std::string name)
      : m_context(std::move(context)), m_handle(handle), m_name(std::move(name)) {}
  ContextPtr m_context;
  ModuleHandle m_handle;
  std::string m_name;
};

}  // namespace wb::worker::cuda
