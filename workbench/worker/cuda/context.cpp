// SPDX-License-Identifier: MIT
#include "worker/cuda/context.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace wb::worker::cuda {

CudaResult<int> device_count(const Driver& driver) {
  int count = 0;
  WB_TRY(driver.check(driver.functions().device_get_count(&count), "count", "the GPUs"));
  return count;
}

CudaResult<ContextPtr> Context::create(DriverPtr driver, int ordinal) {
  WB_TRY_ASSIGN(const int count, device_count(*driver));
  if (ordinal < 0 || ordinal >= count) {
    return Fault{
        {ErrorCode::environment, "use", fmt::format("GPU {}", ordinal),
         fmt::format("the driver shows {}, counted from 0", count), "choose one that is there"},
        Status::invalid_device};
  }
  DeviceOrdinal device = 0;
  WB_TRY(driver->check(driver->functions().device_get(&device, ordinal), "find",
                       fmt::format("GPU {}", ordinal)));
  std::shared_ptr<Context> context(new Context(std::move(driver), device));
  WB_TRY(context->start());
  return ContextPtr(std::move(context));
}

CudaResult<void> Context::start() {
  const DriverFunctions& f = functions();
  std::array<char, 128> name{};
  WB_TRY(check(f.device_get_name(name.data(), static_cast<int>(name.size()), m_device), "name",
               "a GPU"));
  m_name = name.data();
  WB_TRY_ASSIGN(const int major, attribute(Attribute::capability_major));
  WB_TRY_ASSIGN(const int minor, attribute(Attribute::capability_minor));
  m_capability = 10 * major + minor;
  WB_TRY_ASSIGN(m_multiprocessors, attribute(Attribute::multiprocessors));
  WB_TRY_ASSIGN(const int l2_bytes, attribute(Attribute::l2_bytes));
  m_l2_bytes = static_cast<std::size_t>(l2_bytes);
  ContextHandle handle = nullptr;
  WB_TRY(check(f.primary_retain(&handle, m_device), "make a context on", m_name));
  m_is_retained = true;
  return check(f.ctx_set_current(handle), "use the context of", m_name);
}

Context::~Context() {
  // A failure is ignored: after a sticky error every call fails.
  if (m_is_retained) static_cast<void>(functions().primary_release(m_device));
}

CudaResult<int> Context::attribute(Attribute which) const {
  int value = 0;
  WB_TRY(check(functions().device_get_attribute(&value, which, m_device), "describe", m_name));
  return value;
}

CudaResult<std::string> Context::uuid() const {
  DeviceUuid uuid{};
  WB_TRY(check(functions().device_get_uuid(&uuid, m_device), "identify", m_name));
  std::string text = "GPU";
  for (std::size_t i = 0; i < std::size(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

CudaResult<DeviceMemory> Context::memory() const {
  DeviceMemory memory;
  WB_TRY(check(functions().mem_get_info(&memory.free_bytes, &memory.total_bytes),
               "ask for the free memory of", m_name));
  return memory;
}

CudaResult<void> Context::synchronize() const {
  return check(functions().ctx_synchronize(), "finish the work on", m_name);
}

CudaResult<Stream> Stream::create(ContextPtr context) {
  StreamHandle handle = nullptr;
  WB_TRY(context->check(context->functions().stream_create(&handle, k_stream_non_blocking), "make",
                        "a stream"));
  return Stream(std::move(context), handle);
}

Stream::Stream(Stream&& other) noexcept
    : m_context(std::move(other.m_context)), m_handle(std::exchange(other.m_handle, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(m_context, other.m_context);
  std::swap(m_handle, other.m_handle);
  return *this;
}

Stream::~Stream() {
  if (m_handle != nullptr) static_cast<void>(m_context->functions().stream_destroy(m_handle));
}

CudaResult<void> Stream::synchronize() const {
  return m_context->check(m_context->functions().stream_synchronize(m_handle), "finish",
                          "the work of a stream");
}

CudaResult<Event> Event::create(ContextPtr context) {
  EventHandle handle = nullptr;
  WB_TRY(context->check(context->functions().event_create(&handle, k_event_default), "make",
                        "an event"));
  return Event(std::move(context), handle);
}

Event::Event(Event&& other) noexcept
    : m_context(std::move(other.m_context)), m_handle(std::exchange(other.m_handle, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(m_context, other.m_context);
  std::swap(m_handle, other.m_handle);
  return *this;
}

Event::~Event() {
  if (m_handle != nullptr) static_cast<void>(m_context->functions().event_destroy(m_handle));
}

CudaResult<void> Event::record(const Stream& stream) const {
  return m_context->check(m_context->functions().event_record(m_handle, stream.handle()), "record",
                          "an event");
}

CudaResult<void> Event::synchronize() const {
  return m_context->check(m_context->functions().event_synchronize(m_handle), "wait for",
                          "an event");
}

CudaResult<double> Event::elapsed_us(const Event& begin) const {
  float ms = 0;
  WB_TRY(m_context->check(m_context->functions().event_elapsed_time(&ms, begin.m_handle, m_handle),
                          "read", "the time between two events"));
  return static_cast<double>(ms) * 1e3;
}

using wb::device::Device;
using wb::device::DeviceFact;

CudaResult<Device> describe_gpu(const Context& context) {
  const std::string source =
      fmt::format("driver for CUDA {}", driver_version_text(context.driver().version()));
  Device device = wb::device::known_gpu(context.name()).value_or(Device{});
  device.backend = "cuda";
  device.name = context.name();
  WB_TRY_ASSIGN(device.id, context.uuid());
  device.architecture = fmt::format("sm_{}", context.capability());
  device.units = context.multiprocessors();
  device.l2_bytes = DeviceFact{static_cast<double>(context.l2_bytes()), source};
  WB_TRY_ASSIGN(const int shared_bytes, context.attribute(Attribute::shared_bytes_per_unit));
  device.shared_bytes_per_unit = DeviceFact{static_cast<double>(shared_bytes), source};
  WB_TRY_ASSIGN(const DeviceMemory memory, context.memory());
  device.memory_bytes = DeviceFact{static_cast<double>(memory.total_bytes), source};
  return device;
}

}  // namespace wb::worker::cuda
