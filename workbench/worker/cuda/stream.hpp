// SPDX-License-Identifier: MIT
// Stream and Event: order and timing of work on one GPU. For the judge, the inputs and CUDA
// subjects.
#pragma once

#include "worker/cuda/context.hpp"

namespace wb::worker::cuda {

/// A stream that does not synchronize with the legacy default stream.
class Stream {
 public:
  static CudaResult<Stream> create(ContextPtr context);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();
  [[nodiscard]] StreamHandle handle() const { return m_handle; }
  [[nodiscard]] const ContextPtr& context() const { return m_context; }
  /// Waits for all queued work, and reports failures of its kernels.
  [[nodiscard]] CudaResult<void> synchronize() const;

 private:
  Stream(ContextPtr context, StreamHandle handle)
      : m_context(std::move(context)), m_handle(handle) {}
  ContextPtr m_context;
  StreamHandle m_handle = nullptr;
};

class Event {
 public:
  static CudaResult<Event> create(ContextPtr context);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();
  [[nodiscard]] CudaResult<void> record(const Stream& stream) const;
  [[nodiscard]] CudaResult<void> synchronize() const;
  /// Time from `begin` to this event; both must have been recorded and have happened. Resolution
  /// about 0.5 us.
  [[nodiscard]] CudaResult<double> elapsed_us(const Event& begin) const;

 private:
  Event(ContextPtr context, EventHandle handle) : m_context(std::move(context)), m_handle(handle) {}
  ContextPtr m_context;
  EventHandle m_handle = nullptr;
};

}  // namespace wb::worker::cuda
