// SPDX-License-Identifier: MIT
// SharedBuffer: device memory that two processes map. One makes it and hands a descriptor on, the
// other imports that. The judge lends memory for outputs so, and CUDA subjects borrow it.
#pragma once

#include <cstddef>

#include "core/files.hpp"
#include "worker/cuda/context.hpp"

namespace wb::worker::cuda {

class SharedBuffer {
 public:
  /// Nothing where memory of this device can be handed on; else why not.
  static CudaResult<void> supported(const Context& context);
  /// At least `size_bytes`, of undefined content. Errors: limit (out of device memory), environment
  /// (such memory does not exist here).
  static CudaResult<SharedBuffer> create(const ContextPtr& context, std::size_t size_bytes);
  /// Maps what another process handed on; `size_bytes` is what that one's size_bytes() says. The
  /// descriptor may be closed afterwards.
  static CudaResult<SharedBuffer> import(const ContextPtr& context, int fd, std::size_t size_bytes);
  SharedBuffer() = default;
  SharedBuffer(SharedBuffer&& other) noexcept;
  SharedBuffer& operator=(SharedBuffer&& other) noexcept;
  ~SharedBuffer();

  /// A descriptor that import() takes, in whatever process.
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
