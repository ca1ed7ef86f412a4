// SPDX-License-Identifier: MIT
// One GPU as this process uses it: Context is its primary context, which PyTorch and the runtime
// API use too; Stream and Event are order and timing of work on it; describe_gpu() says what it is.
// Every handle of this folder keeps its Context alive. All calls come from the thread that created
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "worker/cuda/driver.hpp"

namespace wb::worker::cuda {

struct DeviceMemory {
  std::size_t free_bytes = 0, total_bytes = 0;
};

class Context {
 public:
  /// Retains the primary context of device `ordinal` (from 0) and makes it current on this thread.
  /// Takes about 0.2 s. Errors: environment (no such device, or it does not start).
  static CudaResult<std::shared_ptr<const Context>> create(DriverPtr driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Driver& driver() const { return *m_driver; }
  [[nodiscard]] const DriverFunctions& functions() const { return m_driver->functions(); }
  [[nodiscard]] CudaResult<void> check(Status status, std::string_view attempted,
                                       std::string_view subject) const {
    return m_driver->check(status, attempted, subject);
  }

  [[nodiscard]] DeviceOrdinal device() const { return m_device; }
  [[nodiscard]] const std::string& name() const { return m_name; }  ///< "NVIDIA H200"
  [[nodiscard]] int capability() const { return m_capability; }     ///< 90 for sm_90
  [[nodiscard]] int multiprocessors() const { return m_multiprocessors; }
  [[nodiscard]] std::size_t l2_bytes() const { return m_l2_bytes; }
  [[nodiscard]] CudaResult<int> attribute(Attribute which) const;
  /// "GPU-01234567-89ab-cdef-0123-456789abcdef", as NVIDIA's tools name it.
  [[nodiscard]] CudaResult<std::string> uuid() const;
  [[nodiscard]] CudaResult<DeviceMemory> memory() const;
  /// Waits for all work of the context, which reports its failures.
  [[nodiscard]] CudaResult<void> synchronize() const;

 private:
  Context(DriverPtr driver, DeviceOrdinal device) : m_driver(std::move(driver)), m_device(device) {}
  [[nodiscard]] CudaResult<void> start();

  DriverPtr m_driver;
  DeviceOrdinal m_device;
  bool m_is_retained = false;
  std::string m_name;
  int m_capability = 0, m_multiprocessors = 0;
  std::size_t m_l2_bytes = 0;
};
using ContextPtr = std::shared_ptr<const Context>;

/// Number of devices that the driver shows to this process.
CudaResult<int> device_count(const Driver& driver);

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

/// Peaks and bandwidth are unknown for a GPU that is not in the table (device/gpu_table.cpp).
CudaResult<wb::device::Device> describe_gpu(const Context& context);

}  // namespace wb::worker::cuda
