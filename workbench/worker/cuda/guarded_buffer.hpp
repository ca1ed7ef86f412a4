// SPDX-License-Identifier: MIT
// GuardedDeviceBuffer: a tensor's device memory with a pattern before and after it, because a GPU
// has no such guard pages; the pattern reveals writes outside the tensor. For DeviceBufferSet.
#pragma once

#include <cstdint>

#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/shared_buffer.hpp"

namespace wb::worker::cuda {

/// On each side; writes farther away are not detected.
inline constexpr std::size_t k_margin_bytes = 4096;

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
