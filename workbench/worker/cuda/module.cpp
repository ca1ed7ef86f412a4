// SPDX-License-Identifier: MIT
#include "worker/cuda/module.hpp"

#include <fmt/format.h>

#include <utility>

namespace wb::worker::cuda {

CudaResult<std::shared_ptr<const Module>> Module::load(ContextPtr context,
                                                       std::span<const std::byte> image,
                                                       std::string name) {
  ModuleHandle handle = nullptr;
  WB_TRY(context->check(
      context->functions().module_load_data(&handle, image.data()),
      fmt::format("load on {} (sm_{}, driver for CUDA {})", context->name(), context->capability(),
                  driver_version_text(context->driver().version())),
      name));
  return std::shared_ptr<const Module>(new Module(std::move(context), handle, std::move(name)));
}

Module::~Module() {
  static_cast<void>(m_context->functions().module_unload(m_handle));
}

CudaResult<Kernel> Module::kernel(const char* name) const {
  KernelHandle handle = nullptr;
  WB_TRY(m_context->check(m_context->functions().module_get_function(&handle, m_handle, name),
                          fmt::format("find the kernel {} in", name), m_name));
  return Kernel(shared_from_this(), handle, name);
}

CudaResult<void> Kernel::launch_raw(const Stream& stream, const Grid& grid,
                                    const void* parameters) const {
  const Context& context = *stream.context();
  void* pointers[] = {const_cast<void*>(parameters)};  // the driver copies and does not write
  return context.check(context.functions().launch_kernel(m_handle, static_cast<unsigned>(grid.x),
                                                         static_cast<unsigned>(grid.y), 1,
                                                         static_cast<unsigned>(grid.threads), 1, 1,
                                                         0, stream.handle(), pointers, nullptr),
                       "launch", m_name);
}

}  // namespace wb::worker::cuda
