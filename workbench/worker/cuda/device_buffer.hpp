// SPDX-License-Identifier: MIT
// Memory for a GPU, for the judge, the inputs and CUDA subjects: DeviceBuffer is device memory of
// this process, PinnedBuffer page-locked host memory for copies at full speed, SharedBuffer device
// memory that two processes map, and GuardedDeviceBuffer a tensor between margins that show writes
// outside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/files.hpp"
#include "worker/cuda/context.hpp"

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

/// Device memory mapped by two processes: one allocates it and exports a descriptor, the other
/// imports it. The judge lends memory for outputs this way to CUDA subjects.
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

/// On each side; writes farther away are not detected.
inline constexpr std::size_t k_margin_bytes = 4096;

/// A tensor's device memory with a pattern before and after it, because a GPU has no such guard
/// pages; the pattern reveals writes outside the tensor.
class GuardedDeviceBuffer {
 public:
  /// Zeroed, 256-byte aligned. `shift_bytes`, a multiple of 256, moves it within the reservation,
  /// so that placements differ in more than their pages. The pattern is made from `secret`. Size 0
  /// reserves nothing. Errors: limit.
  static CudaResult<GuardedDeviceBuffer> create(const Stream& stream, std::size_t size_bytes,
                                                std::size_t shift_bytes, std::uint64_t secret);
  /// Uses memory of another process, at least reserved_bytes() of it; the tensor keeps the content
  /// that that process wrote.
  static CudaResult<GuardedDeviceBuffer> create_in(const Stream& stream, SharedBuffer memory,
                                                   std::size_t size_bytes, std::size_t shift_bytes,
                                                   std::uint64_t secret);
  GuardedDeviceBuffer() = default;

  [[nodiscard]] DeviceAddress address() const { return m_address; }  ///< 0 when of size 0
  [[nodiscard]] std::size_t size_bytes() const { return m_size_bytes; }
  /// False once anything was written within the margins. Waits for the stream.
  [[nodiscard]] CudaResult<bool> margins_intact(const Stream& stream) const;
  /// Size that create() reserves.
  static std::size_t reserved_bytes(std::size_t size_bytes, std::size_t shift_bytes);
  /// Offset of the tensor in the reservation.
  static std::size_t offset_bytes(std::size_t shift_bytes) { return k_margin_bytes + shift_bytes; }

 private:
  [[nodiscard]] CudaResult<void> write_margins(const Stream& stream) const;

  DeviceBuffer m_reserved;
  SharedBuffer m_borrowed;
  DeviceAddress m_address = 0;
  std::size_t m_size_bytes = 0;
  std::uint64_t m_secret = 0;
};

}  // namespace wb::worker::cuda
