// SPDX-License-Identifier: MIT
#include "worker/cuda/stream.hpp"

#include <utility>

namespace wb::worker::cuda {

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

}  // namespace wb::worker::cuda
