// SPDX-License-Identifier: MIT
// SharedBuffer: device memory mapped by two processes: one allocates it and exports a descriptor,
// the other imports it. The judge lends memory for outputs this way to CUDA subjects.
#pragma once

#include <cstddef>

#include "core/files.hpp"
#include "worker/cuda/context.hpp"

namespace wb::worker::cuda {

class SharedBuffer {
 public:
  /// Succeeds when memory of this device can be exported; else says why not.
  static CudaResult<void> supported(const Context& context);
  /// At least `size_bytes`, with undefined content. Errors: limit (out of device memory),
  /// environment (this device has no such memory).
  static CudaResult<SharedBuffer> create(const ContextPtr& context, std::size_t size_bytes);
  /// Maps memory exported by another process, whose size_bytes() is `size_bytes`. The descriptor
  /// may be closed afterwards.
  static CudaResult<SharedBuffer> import(const ContextPtr& context, int fd, std::size_t size_bytes);
  SharedBuffer() = default;
  SharedBuffer(SharedBuffer&& other) noexcept;
  SharedBuffer& operator=(SharedBuffer&& other) noexcept;
  ~SharedBuffer();

  /// A descriptor for import() in another process.
  [[nodiscard]] CudaResult<UniqueFd> share() const;
  [[nodiscard]] DeviceAddress address() const { return m_address; }
  [[nodiscard]] std::size_t size_bytes() const { return m_size_bytes; }

 private:
  [[nodiscard]] CudaResult<void> map();

  ContextPtr m_context;
  AllocationHandle m_handle = 0;
  DeviceAddress m_address = 0;
  std::size_t m_size_bytes = 0;
  bool m_is_mapped = false;
};

}  // namespace wb::worker::cuda
