// SPDX-License-Identifier: MIT
#include "worker/cuda/device_buffer.hpp"

#include <fmt/format.h>

#include <utility>

namespace wb::worker::cuda {

CudaResult<DeviceBuffer> DeviceBuffer::allocate(ContextPtr context, std::size_t size_bytes) {
  if (size_bytes == 0) return DeviceBuffer();
  DeviceAddress address = 0;
  const Status status = context->functions().mem_alloc(&address, size_bytes);
  if (status != Status::success) {
    return std::move(context->check(status, "reserve",
                                    fmt::format("{} bytes of device memory", size_bytes)))
        .error();
  }
  return DeviceBuffer(std::move(context), address, size_bytes);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : m_context(std::move(other.m_context)),
      m_address(std::exchange(other.m_address, 0)),
      m_size_bytes(std::exchange(other.m_size_bytes, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(m_context, other.m_context);
  std::swap(m_address, other.m_address);
  std::swap(m_size_bytes, other.m_size_bytes);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (m_address != 0) static_cast<void>(m_context->functions().mem_free(m_address));
}

CudaResult<PinnedBuffer> PinnedBuffer::allocate(ContextPtr context, std::size_t size_bytes) {
  void* address = nullptr;
  WB_TRY(context->check(context->functions().mem_host_alloc(&address, size_bytes, 0), "reserve",
                        fmt::format("{} bytes of pinned memory", size_bytes)));
  return PinnedBuffer(std::move(context), {static_cast<std::byte*>(address), size_bytes});
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : m_context(std::move(other.m_context)), m_bytes(std::exchange(other.m_bytes, {})) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(m_context, other.m_context);
  std::swap(m_bytes, other.m_bytes);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  if (!m_bytes.empty()) static_cast<void>(m_context->functions().mem_free_host(m_bytes.data()));
}

CudaResult<void> copy_to_device(const Stream& stream, DeviceAddress to,
                                std::span<const std::byte> from) {
  if (from.empty()) return {};
  const Context& context = *stream.context();
  WB_TRY(context.check(
      context.functions().memcpy_to_device(to, from.data(), from.size(), stream.handle()), "copy",
      "bytes to the device"));
  // The driver decides whether it copies pageable memory first.
  return stream.synchronize();
}

CudaResult<void> copy_to_host(const Stream& stream, std::span<std::byte> to, DeviceAddress from) {
  if (to.empty()) return {};
  const Context& context = *stream.context();
  WB_TRY(
      context.check(context.functions().memcpy_to_host(to.data(), from, to.size(), stream.handle()),
                    "copy", "bytes from the device"));
  return stream.synchronize();
}

CudaResult<void> fill_bytes(const Stream& stream, DeviceAddress to, std::byte value,
                            std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  const Context& context = *stream.context();
  return context.check(context.functions().memset_bytes(to, static_cast<unsigned char>(value),
                                                        size_bytes, stream.handle()),
                       "fill", "device memory");
}

}  // namespace wb::worker::cuda
