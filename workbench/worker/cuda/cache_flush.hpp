// SPDX-License-Identifier: MIT
// CacheFlush: leaves the L2 cache without a line of anybody's tensors (plan `cold`).
#pragma once

#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {

class CacheFlush {
 public:
  /// Reserves four times the L2 cache. `code`: the device code `timing`. Errors: limit.
  static CudaResult<CacheFlush> create(const Stream& stream, const Module& code);
  /// Queues: twice the L2 cache written, then as much other memory read, so that no dirty line is
  /// left for the timed call to write back; lines that were to persist are given back at once, so
  /// nothing may be running.
  [[nodiscard]] CudaResult<void> queue(const Stream& stream) const;
  [[nodiscard]] std::size_t size_bytes() const { return m_memory.size_bytes(); }

 private:
  CacheFlush(Kernel read, DeviceBuffer memory, DeviceBuffer sum)
      : m_read(std::move(read)), m_memory(std::move(memory)), m_sum(std::move(sum)) {}
  Kernel m_read;
  DeviceBuffer m_memory, m_sum;
};

}  // namespace wb::worker::cuda
