// SPDX-License-Identifier: MIT
#include "worker/cuda/shared_buffer.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace wb::worker::cuda {
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

}  // namespace wb::worker::cuda
