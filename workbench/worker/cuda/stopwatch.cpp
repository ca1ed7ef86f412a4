// SPDX-License-Identifier: MIT
#include "worker/cuda/stopwatch.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "measure/quantiles.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/settling.hpp"

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

CudaResult<void> Graph::begin(const Stream& stream) {
  const Context& context = *stream.context();
  return context.check(
      context.functions().stream_begin_capture(stream.handle(), k_capture_thread_local), "record",
      "the work of a stream");
}

CudaResult<Graph> Graph::end(const Stream& stream, const std::function<void(GraphHandle)>& seen) {
  const ContextPtr& context = stream.context();
  GraphHandle recorded = nullptr;
  WB_TRY(context->check(context->functions().stream_end_capture(stream.handle(), &recorded),
                        "record", "the work of a stream"));
  if (seen && recorded != nullptr) seen(recorded);
  GraphExecHandle handle = nullptr;
  const Status made = context->functions().graph_instantiate(&handle, recorded, 0);
  static_cast<void>(context->functions().graph_destroy(recorded));
  WB_TRY(context->check(made, "make ready", "a graph of recorded calls"));
  return Graph(context, handle);
}

Graph::Graph(Graph&& other) noexcept
    : m_context(std::move(other.m_context)), m_handle(std::exchange(other.m_handle, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(m_context, other.m_context);
  std::swap(m_handle, other.m_handle);
  return *this;
}

Graph::~Graph() {
  if (m_handle != nullptr) static_cast<void>(m_context->functions().graph_exec_destroy(m_handle));
}

CudaResult<void> Graph::launch(const Stream& stream) const {
  return m_context->check(m_context->functions().graph_launch(m_handle, stream.handle()), "launch",
                          "a graph of recorded calls");
}

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

namespace {

constexpr int k_empty_pairs = 51;
constexpr std::int64_t k_empty_calls = 200, k_empty_samples = 11;
/// Launches queued before the gate opens; must be below the driver's limit (Gate). Samples are
/// long enough that the host stays ahead of the device with the others.
constexpr std::size_t k_behind_gate = 128;

}  // namespace

CudaResult<Stopwatch> Stopwatch::create(const Stream& stream) {
  const ContextPtr& context = stream.context();
  WB_TRY_ASSIGN(const DeviceCode images, device_code());
  WB_TRY_ASSIGN(const Code code,
                Module::load(context, images.timing, "the device code of the stopwatch"));
  WB_TRY_ASSIGN(Gate gate, Gate::create(context, *code));
  Stopwatch stopwatch(context, code, std::move(gate));
  std::vector<double> pairs_us;
  for (int i = 0; i < k_empty_pairs; ++i) {
    WB_TRY_ASSIGN(const Samples pair, stopwatch.one_pair(stream, nullptr, {}));
    pairs_us.push_back(pair.call_us.front());
  }
  stopwatch.m_empty_pair_us = measure::median(pairs_us);
  return stopwatch;
}

CudaResult<void> Stopwatch::provide_events(std::size_t count) {
  while (m_events.size() < count) {
    WB_TRY_ASSIGN(Event event, Event::create(m_context));
    m_events.push_back(std::move(event));
  }
  return {};
}

CudaResult<Samples> Stopwatch::read(std::int64_t calls, std::size_t samples, double wall_us) {
  if (m_gate.lapsed()) {
    return Fault{{ErrorCode::environment, "time", "calls on a GPU",
                  "the host stood still for so long that the gate before them opened by itself",
                  "measure again on a machine with a free CPU"}};
  }
  Samples result;
  result.wall_us = wall_us;
  for (std::size_t i = 0; i < samples; ++i) {
    WB_TRY_ASSIGN(const double us, m_events[i + 1].elapsed_us(m_events[i]));
    result.call_us.push_back(us / static_cast<double>(calls));
  }
  return result;
}

CudaResult<void> Stopwatch::queue_hot(const Stream& stream, const Graph& graph, std::size_t from,
                                      std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    WB_TRY(graph.launch(stream));
    WB_TRY(m_events[i + 1].record(stream));
  }
  return {};
}

CudaResult<Samples> Stopwatch::hot(const Stream& stream, const Graph& graph, std::int64_t calls,
                                   std::int64_t samples, const BlockHooks& hooks) {
  const auto count = static_cast<std::size_t>(samples);
  const std::size_t behind_gate = std::min(count, k_behind_gate);
  WB_TRY(provide_events(count + 1));
  WB_TRY(m_gate.close(stream));
  CudaResult<void> queued = m_events[0].record(stream);
  if (queued.ok()) queued = queue_hot(stream, graph, 0, behind_gate);
  if (queued.ok() && count == behind_gate && hooks.at_end) queued = hooks.at_end();
  if (hooks.on_start) hooks.on_start();
  const auto begin = std::chrono::steady_clock::now();
  m_gate.open();  // also after a failure, so that nothing keeps waiting
  WB_TRY(queued);
  WB_TRY(queue_hot(stream, graph, behind_gate, count));
  if (count > behind_gate && hooks.at_end) WB_TRY(hooks.at_end());
  WB_TRY(stream.synchronize());
  return read(calls, count, us_since(begin));
}

CudaResult<double> Stopwatch::empty_call_us(const Stream& stream) {
  WB_TRY_ASSIGN(const Kernel kernel, m_code->kernel("wb_spin"));
  const device::SpinParams at_once{};
  const auto enqueue = [&]() -> CudaResult<void> {
    for (std::int64_t i = 0; i < k_empty_calls; ++i) {
      WB_TRY(kernel.launch(stream, {.threads = 32}, at_once));
    }
    return {};
  };
  WB_TRY_ASSIGN(const Graph graph, Graph::record(stream, enqueue));
  WB_TRY(graph.launch(stream));
  WB_TRY(stream.synchronize());
  WB_TRY_ASSIGN(const Samples samples, hot(stream, graph, k_empty_calls, k_empty_samples));
  return measure::median(samples.call_us);
}

CudaResult<Samples> Stopwatch::one_pair(const Stream& stream, const Enqueue& enqueue,
                                        const BlockHooks& hooks) {
  WB_TRY(provide_events(2));
  WB_TRY(m_gate.close(stream));
  CudaResult<void> queued = m_events[0].record(stream);
  if (queued.ok() && enqueue) queued = enqueue();
  if (queued.ok()) queued = m_events[1].record(stream);
  if (queued.ok() && hooks.at_end) queued = hooks.at_end();
  if (hooks.on_start) hooks.on_start();
  const auto begin = std::chrono::steady_clock::now();
  m_gate.open();
  WB_TRY(queued);
  WB_TRY(stream.synchronize());
  return read(1, 1, us_since(begin));
}

CudaResult<Samples> Stopwatch::lone(const Stream& stream, const Graph& graph,
                                    const BlockHooks& hooks) {
  WB_TRY_ASSIGN(Samples sample, one_pair(
                                    stream, [&] { return graph.launch(stream); }, hooks));
  sample.call_us.front() = std::max(sample.call_us.front() - m_empty_pair_us, 0.0);
  return sample;
}

CudaResult<Samples> Stopwatch::chain(const Stream& stream, const Enqueue& enqueue,
                                     const BlockHooks& hooks) {
  return one_pair(stream, enqueue, hooks);
}

CudaResult<Samples> Stopwatch::eager(const Stream& stream, const Enqueue& call, std::int64_t calls,
                                     std::int64_t samples, const BlockHooks& hooks) {
  const auto count = static_cast<std::size_t>(samples);
  WB_TRY(provide_events(count + 1));
  WB_TRY(stream.synchronize());
  if (hooks.on_start) hooks.on_start();
  const auto begin = std::chrono::steady_clock::now();
  WB_TRY(m_events[0].record(stream));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::int64_t n = 0; n < calls; ++n) WB_TRY(call());
    WB_TRY(m_events[i + 1].record(stream));
  }
  if (hooks.at_end) WB_TRY(hooks.at_end());
  WB_TRY(stream.synchronize());
  return read(calls, count, us_since(begin));
}

CudaResult<void> Stopwatch::flush(const Stream& stream) {
  if (!m_flush) {
    WB_TRY_ASSIGN(CacheFlush flush, CacheFlush::create(stream, *m_code));
    m_flush.emplace(std::move(flush));
  }
  return m_flush->queue(stream);
}

}  // namespace wb::worker::cuda
