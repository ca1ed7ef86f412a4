// SPDX-License-Identifier: MIT
#include "worker/cuda/guarded_buffer.hpp"

#include <array>
#include <utility>

#include "problem/verdict.hpp"

namespace wb::worker::cuda {
namespace {

using Margin = std::array<std::byte, k_margin_bytes>;

/// The rear margin has a different pattern from the front one.
Margin margin_of(std::uint64_t secret, bool is_rear) {
  Margin margin;
  problem::Poison{secret + (is_rear ? 1u : 0u)}.fill(margin);
  return margin;
}

}  // namespace

std::size_t GuardedDeviceBuffer::reserved_bytes(std::size_t size_bytes, std::size_t shift_bytes) {
  return size_bytes == 0 ? 0 : k_margin_bytes + shift_bytes + size_bytes + k_margin_bytes;
}

CudaResult<GuardedDeviceBuffer> GuardedDeviceBuffer::create(const Stream& stream,
                                                            std::size_t size_bytes,
                                                            std::size_t shift_bytes,
                                                            std::uint64_t secret) {
  GuardedDeviceBuffer buffer;
  if (size_bytes == 0) return buffer;
  WB_TRY_ASSIGN(buffer.m_reserved,
                DeviceBuffer::allocate(stream.context(), reserved_bytes(size_bytes, shift_bytes)));
  buffer.m_address = buffer.m_reserved.address() + offset_bytes(shift_bytes);
  buffer.m_size_bytes = size_bytes;
  buffer.m_secret = secret;
  WB_TRY(fill_bytes(stream, buffer.m_address, std::byte{0}, size_bytes));
  WB_TRY(buffer.write_margins(stream));
  return buffer;
}

CudaResult<GuardedDeviceBuffer> GuardedDeviceBuffer::create_in(const Stream& stream,
                                                               SharedBuffer memory,
                                                               std::size_t size_bytes,
                                                               std::size_t shift_bytes,
                                                               std::uint64_t secret) {
  GuardedDeviceBuffer buffer;
  if (memory.size_bytes() < reserved_bytes(size_bytes, shift_bytes)) {
    return Fault{{ErrorCode::invalid, "use", "memory of another process",
                  "the tensor and its margins do not lie in it", ""}};
  }
  buffer.m_borrowed = std::move(memory);
  buffer.m_address = buffer.m_borrowed.address() + offset_bytes(shift_bytes);
  buffer.m_size_bytes = size_bytes;
  buffer.m_secret = secret;
  WB_TRY(buffer.write_margins(stream));
  return buffer;
}

CudaResult<void> GuardedDeviceBuffer::write_margins(const Stream& stream) const {
  // Adjacent to the tensor on both sides for any shift; its end need not be aligned.
  WB_TRY(copy_to_device(stream, m_address - k_margin_bytes, margin_of(m_secret, false)));
  return copy_to_device(stream, m_address + m_size_bytes, margin_of(m_secret, true));
}

CudaResult<bool> GuardedDeviceBuffer::margins_intact(const Stream& stream) const {
  if (m_size_bytes == 0) return true;
  Margin found;
  WB_TRY(copy_to_host(stream, found, m_address - k_margin_bytes));
  if (found != margin_of(m_secret, false)) return false;
  WB_TRY(copy_to_host(stream, found, m_address + m_size_bytes));
  return found == margin_of(m_secret, true);
}

}  // namespace wb::worker::cuda
