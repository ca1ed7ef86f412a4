// SPDX-License-Identifier: MIT
#include "worker/cuda/gate.hpp"

#include <atomic>
#include <utility>

#include "worker/cuda/device/params.hpp"

namespace wb::worker::cuda {

CudaResult<Gate> Gate::create(const ContextPtr& context, const Module& code) {
  WB_TRY_ASSIGN(Kernel wait, code.kernel("wb_wait"));
  WB_TRY_ASSIGN(PinnedBuffer words, PinnedBuffer::allocate(context, 2 * sizeof(std::uint32_t)));
  Gate gate(std::move(wait), std::move(words));
  *gate.word(0) = 0;
  *gate.word(1) = 0;
  return gate;
}

volatile std::uint32_t* Gate::word(std::size_t index) const {
  return reinterpret_cast<volatile std::uint32_t*>(m_words.bytes().data()) + index;
}

CudaResult<void> Gate::close(const Stream& stream) {
  return m_wait.launch(stream, {},
                       device::WaitParams{word(0), word(1), ++m_ticket, k_gate_limit_ns});
}

void Gate::open() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *word(0) = m_ticket;
}

}  // namespace wb::worker::cuda
