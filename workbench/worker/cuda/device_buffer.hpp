// SPDX-License-Identifier: MIT
// DeviceBuffer and PinnedBuffer: GPU memory, and page-locked host memory for copies at full speed.
// For the judge, the inputs and CUDA subjects.
#pragma once

#include <cstddef>
#include <span>

#include "worker/cuda/stream.hpp"

namespace wb::worker::cuda {

/// Device memory, 256-byte aligned, with undefined content. An empty one owns nothing.
class DeviceBuffer {
 public:
  /// Errors: limit (out of device memory).
  static CudaResult<DeviceBuffer> allocate(ContextPtr context, std::size_t size_bytes);
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  [[nodiscard]] DeviceAddress address() const { return m_address; }
  [[nodiscard]] std::size_t size_bytes() const { return m_size_bytes; }
  /// The address in the form that kernels take; the host must not dereference it.
  template <typename T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(m_address);  // NOLINT(performance-no-int-to-ptr)
  }

 private:
  DeviceBuffer(ContextPtr context, DeviceAddress address, std::size_t size_bytes)
      : m_context(std::move(context)), m_address(address), m_size_bytes(size_bytes) {}
  ContextPtr m_context;
  DeviceAddress m_address = 0;
  std::size_t m_size_bytes = 0;
};

/// Page-locked host memory.
class PinnedBuffer {
 public:
  /// Errors: limit.
  static CudaResult<PinnedBuffer> allocate(ContextPtr context, std::size_t size_bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();
  [[nodiscard]] std::span<std::byte> bytes() const { return m_bytes; }

 private:
  PinnedBuffer(ContextPtr context, std::span<std::byte> bytes)
      : m_context(std::move(context)), m_bytes(bytes) {}
  ContextPtr m_context;
  std::span<std::byte> m_bytes;
};

/// Returns when the copy is done, so that the host memory may be reused.
CudaResult<void> copy_to_device(const Stream& stream, DeviceAddress to,
                                std::span<const std::byte> from);
/// Returns when the bytes have arrived.
CudaResult<void> copy_to_host(const Stream& stream, std::span<std::byte> to, DeviceAddress from);
/// Queues the fill.
CudaResult<void> fill_bytes(const Stream& stream, DeviceAddress to, std::byte value,
                            std::size_t size_bytes);

}  // namespace wb::worker::cuda
