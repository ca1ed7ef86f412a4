// SPDX-License-Identifier: MIT
// Gate: holds a stream while the host queues timed work, so that no host delay falls between two
// events. For the stopwatch.
//
// Behind a closed gate the driver accepts about 500 launches and then blocks the host (510 on an
// H200, driver 580, and 1,021 of graphs), so open it before that.
#pragma once

#include <cstdint>

#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {

/// A gate opens by itself after this time and then counts as `lapsed`.
inline constexpr std::uint64_t k_gate_limit_ns = 2'000'000'000;

class Gate {
 public:
  /// `code`: the device code `timing`. Errors: limit (no pinned memory).
  static CudaResult<Gate> create(const ContextPtr& context, const Module& code);
  /// Work queued on the stream from now on waits for open().
  [[nodiscard]] CudaResult<void> close(const Stream& stream);
  /// Opens every gate closed so far.
  void open();
  /// Whether the last closed gate opened by itself, so that the host may have delayed the timed
  /// work. Ask after the stream has passed it.
  [[nodiscard]] bool lapsed() const { return *word(1) == m_ticket; }

 private:
  Gate(Kernel wait, PinnedBuffer words) : m_wait(std::move(wait)), m_words(std::move(words)) {}
  [[nodiscard]] volatile std::uint32_t* word(std::size_t index) const;
  Kernel m_wait;
  PinnedBuffer m_words;  // the ticket that may pass; the one that timed out
  std::uint32_t m_ticket = 0;
};

}  // namespace wb::worker::cuda
