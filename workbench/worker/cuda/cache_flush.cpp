// SPDX-License-Identifier: MIT
#include "worker/cuda/cache_flush.hpp"

#include <utility>

#include "worker/cuda/device/params.hpp"

namespace wb::worker::cuda {
namespace {

constexpr int k_blocks_per_multiprocessor = 8;

}  // namespace

CudaResult<CacheFlush> CacheFlush::create(const Stream& stream, const Module& code) {
  const ContextPtr& context = stream.context();
  WB_TRY_ASSIGN(Kernel read, code.kernel("wb_read_through"));
  WB_TRY_ASSIGN(DeviceBuffer memory, DeviceBuffer::allocate(context, 4 * context->l2_bytes()));
  WB_TRY_ASSIGN(DeviceBuffer sum, DeviceBuffer::allocate(context, sizeof(std::uint32_t)));
  WB_TRY(fill_bytes(stream, memory.address(), std::byte{0}, memory.size_bytes()));
  return CacheFlush(std::move(read), std::move(memory), std::move(sum));
}

CudaResult<void> CacheFlush::queue(const Stream& stream) const {
  const Context& context = *stream.context();
  const std::size_t half = m_memory.size_bytes() / 2;
  WB_TRY(context.check(context.functions().reset_persisting_cache(), "give back",
                       "persisting lines of the L2 cache"));
  WB_TRY(fill_bytes(stream, m_memory.address(), std::byte{0}, half));
  device::ReadParams p{};
  const std::size_t words = half / sizeof(std::uint32_t);
  p.from = m_memory.as<std::uint32_t>() + words;
  p.words = static_cast<std::int64_t>(words);
  p.sum = m_sum.as<std::uint32_t>();
  return m_read.launch(stream,
                       {.x = std::int64_t{k_blocks_per_multiprocessor} * context.multiprocessors(),
                        .threads = device::k_scan_threads},
                       p);
}

}  // namespace wb::worker::cuda
