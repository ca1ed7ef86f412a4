// SPDX-License-Identifier: MIT
// Gate: holds a stream while the host queues what is to be timed, so that no delay of the host lies
// between two events. For the stopwatch.
#pragma once

#include <cstdint>

#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {

/// A gate that is not opened opens by itself after this time.
inline constexpr std::uint64_t k_gate_limit_ns = 2'000'000'000;

class Gate {
 public:
  /// Errors: environment (no device code), limit (no pinned memory).
  static CudaResult<Gate> create(const ContextPtr& context);
  /// What is queued on the stream from now on waits for open().
  [[nodiscard]] CudaResult<void> close(const Stream& stream);
  /// Opens every gate closed so far.
  void open();

 private:
  Gate(Kernel wait, PinnedBuffer flag) : m_wait(std::move(wait)), m_flag(std::move(flag)) {}
  [[nodiscard]] volatile std::uint32_t* flag() const;
  Kernel m_wait;
  PinnedBuffer m_flag;
  std::uint32_t m_ticket = 0;
};

}  // namespace wb::worker::cuda
