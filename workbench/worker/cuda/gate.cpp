// SPDX-License-Identifier: MIT
#include "worker/cuda/gate.hpp"

#include <atomic>
#include <utility>

#include "worker/cuda/device/params.hpp"
#include "worker/cuda/device_code.hpp"

namespace wb::worker::cuda {

CudaResult<Gate> Gate::create(const ContextPtr& context) {
  WB_TRY_ASSIGN(const DeviceCode code, device_code());
  WB_TRY_ASSIGN(const auto module,
                Module::load(context, code.timing, "the device code of the stopwatch"));
  WB_TRY_ASSIGN(Kernel wait, module->kernel("wb_wait"));
  WB_TRY_ASSIGN(PinnedBuffer flag, PinnedBuffer::allocate(context, sizeof(std::uint32_t)));
  Gate gate(std::move(wait), std::move(flag));
  *gate.flag() = 0;
  return gate;
}

volatile std::uint32_t* Gate::flag() const {
  return reinterpret_cast<volatile std::uint32_t*>(m_flag.bytes().data());
}

CudaResult<void> Gate::close(const Stream& stream) {
  return m_wait.launch(stream, {}, device::WaitParams{flag(), ++m_ticket, k_gate_limit_ns});
}

void Gate::open() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *flag() = m_ticket;
}

}  // namespace wb::worker::cuda
