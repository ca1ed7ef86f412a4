// SPDX-License-Identifier: MIT
#include "worker/cuda/device_buffer.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "problem/verdict.hpp"

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

namespace {

AllocationProperties properties_of(const Context& context) {
  AllocationProperties properties;
  properties.location.device = context.device();
  return properties;
}

}  // namespace

CudaResult<void> SharedBuffer::supported(const Context& context) {
  for (const auto& [attribute, what] :
       {std::pair{Attribute::virtual_memory, "has no virtual memory management"},
        std::pair{Attribute::descriptor_handle, "hands no memory on as a descriptor"}}) {
    WB_TRY_ASSIGN(const int has, context.attribute(attribute));
    if (has == 0) {
      return Fault{{ErrorCode::environment, "share device memory of", context.name(),
                    fmt::format("it {}", what), ""}};
    }
  }
  return {};
}

CudaResult<SharedBuffer> SharedBuffer::create(const ContextPtr& context, std::size_t size_bytes) {
  const DriverFunctions& f = context->functions();
  const AllocationProperties properties = properties_of(*context);
  std::size_t granularity = 0;
  WB_TRY(context->check(f.mem_granularity(&granularity, &properties, k_least_granularity),
                        "share device memory of", context->name()));
  SharedBuffer buffer;
  buffer.m_context = context;
  buffer.m_size_bytes = (size_bytes + granularity - 1) / granularity * granularity;
  WB_TRY(context->check(f.mem_create(&buffer.m_handle, buffer.m_size_bytes, &properties, 0),
                        "reserve",
                        fmt::format("{} bytes of device memory to share", buffer.m_size_bytes)));
  WB_TRY(buffer.map());
  return buffer;
}

CudaResult<SharedBuffer> SharedBuffer::import(const ContextPtr& context, int fd,
                                              std::size_t size_bytes) {
  SharedBuffer buffer;
  buffer.m_context = context;
  buffer.m_size_bytes = size_bytes;
  // The driver takes the number itself here; other systems' handles are passed by address.
  void* const number = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
      static_cast<std::intptr_t>(fd));
  WB_TRY(
      context->check(context->functions().mem_import(&buffer.m_handle, number, k_descriptor_handle),
                     "import", "device memory of another process"));
  WB_TRY(buffer.map());
  return buffer;
}

CudaResult<void> SharedBuffer::map() {
  const DriverFunctions& f = m_context->functions();
  WB_TRY(m_context->check(f.address_reserve(&m_address, m_size_bytes, 0, 0, 0), "reserve",
                          fmt::format("{} bytes of addresses", m_size_bytes)));
  WB_TRY(m_context->check(f.mem_map(m_address, m_size_bytes, 0, m_handle, 0), "map",
                          "shared device memory"));
  m_is_mapped = true;
  MemoryAccess access;
  access.location.device = m_context->device();
  return m_context->check(f.mem_set_access(m_address, m_size_bytes, &access, 1), "open",
                          "shared device memory");
}

CudaResult<UniqueFd> SharedBuffer::share() const {
  int fd = -1;
  WB_TRY(m_context->check(m_context->functions().mem_export(&fd, m_handle, k_descriptor_handle, 0),
                          "hand on", "shared device memory"));
  return UniqueFd(fd);
}

SharedBuffer::SharedBuffer(SharedBuffer&& other) noexcept
    : m_context(std::move(other.m_context)),
      m_handle(std::exchange(other.m_handle, 0)),
      m_address(std::exchange(other.m_address, 0)),
      m_size_bytes(std::exchange(other.m_size_bytes, 0)),
      m_is_mapped(std::exchange(other.m_is_mapped, false)) {}

SharedBuffer& SharedBuffer::operator=(SharedBuffer&& other) noexcept {
  std::swap(m_context, other.m_context);
  std::swap(m_handle, other.m_handle);
  std::swap(m_address, other.m_address);
  std::swap(m_size_bytes, other.m_size_bytes);
  std::swap(m_is_mapped, other.m_is_mapped);
  return *this;
}

SharedBuffer::~SharedBuffer() {
  if (!m_context) return;
  const DriverFunctions& f = m_context->functions();
  if (m_is_mapped) static_cast<void>(f.mem_unmap(m_address, m_size_bytes));
  if (m_address != 0) static_cast<void>(f.address_free(m_address, m_size_bytes));
  if (m_handle != 0) static_cast<void>(f.mem_release(m_handle));
}

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
