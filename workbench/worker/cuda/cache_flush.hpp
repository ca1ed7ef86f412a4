// SPDX-License-Identifier: MIT
// CacheFlush: leaves no line of any tensor in the L2 cache (plan `cold`).
#pragma once

#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {

class CacheFlush {
 public:
  /// Reserves four times the L2 cache. `code`: the device code `timing`. Errors: limit.
  static CudaResult<CacheFlush> create(const Stream& stream, const Module& code);
  /// Queues writes of twice the L2 cache, then reads of as much other memory, so that no dirty line
  /// is left for the timed call to write back. Persisting lines are reset at once, so nothing may
  /// be running.
  [[nodiscard]] CudaResult<void> queue(const Stream& stream) const;
  [[nodiscard]] std::size_t size_bytes() const { return m_memory.size_bytes(); }

 private:
  CacheFlush(Kernel read, DeviceBuffer memory, DeviceBuffer sum)
      : m_read(std::move(read)), m_memory(std::move(memory)), m_sum(std::move(sum)) {}
  Kernel m_read;
  DeviceBuffer m_memory, m_sum;
};

}  // namespace wb::worker::cuda
