// SPDX-License-Identifier: MIT
#include "worker/cuda/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "measure/statistics.hpp"

namespace wb::worker::cuda {
namespace {

constexpr int k_empty_pairs = 51;

double us_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

CudaResult<Stopwatch> Stopwatch::create(const Stream& stream) {
  WB_TRY_ASSIGN(Gate gate, Gate::create(stream.context()));
  WB_TRY_ASSIGN(CacheFlush flush, CacheFlush::create(stream));
  return Stopwatch(stream.context(), std::move(gate), std::move(flush));
}

CudaResult<void> Stopwatch::provide_events(std::size_t count) {
  while (m_events.size() < count) {
    WB_TRY_ASSIGN(Event event, Event::create(m_context));
    m_events.push_back(std::move(event));
  }
  return {};
}

CudaResult<Samples> Stopwatch::hot(const Stream& stream, const Graph& graph, std::int64_t calls,
                                   std::int64_t samples) {
  const auto count = static_cast<std::size_t>(samples);
  WB_TRY(provide_events(count + 1));
  WB_TRY(m_gate.close(stream));
  CudaResult<void> queued = m_events[0].record(stream);
  for (std::size_t i = 0; queued.ok() && i < count; ++i) {
    queued = graph.launch(stream);
    if (queued.ok()) queued = m_events[i + 1].record(stream);
  }
  const auto begin = std::chrono::steady_clock::now();
  m_gate.open();  // also after a failure: nothing may be left waiting
  WB_TRY(queued);
  WB_TRY(stream.synchronize());
  Samples result;
  result.wall_us = us_since(begin);
  for (std::size_t i = 0; i < count; ++i) {
    WB_TRY_ASSIGN(const double us, m_events[i + 1].elapsed_us(m_events[i]));
    result.call_us.push_back(us / static_cast<double>(calls));
  }
  return result;
}

CudaResult<Samples> Stopwatch::one_pair(const Stream& stream, const Graph* graph) {
  WB_TRY(provide_events(2));
  WB_TRY(m_gate.close(stream));
  CudaResult<void> queued = m_events[0].record(stream);
  if (queued.ok() && graph != nullptr) queued = graph->launch(stream);
  if (queued.ok()) queued = m_events[1].record(stream);
  const auto begin = std::chrono::steady_clock::now();
  m_gate.open();
  WB_TRY(queued);
  WB_TRY(stream.synchronize());
  const double wall_us = us_since(begin);
  WB_TRY_ASSIGN(const double us, m_events[1].elapsed_us(m_events[0]));
  return Samples{{us}, wall_us};
}

CudaResult<double> Stopwatch::empty_pair_us(const Stream& stream) {
  std::vector<double> pairs_us;
  for (int i = 0; i < k_empty_pairs; ++i) {
    WB_TRY_ASSIGN(const Samples pair, one_pair(stream, nullptr));
    pairs_us.push_back(pair.call_us.front());
  }
  return median(pairs_us);
}

CudaResult<Samples> Stopwatch::cold(const Stream& stream, const Graph& graph,
                                    std::int64_t samples) {
  WB_TRY_ASSIGN(const double empty_us, empty_pair_us(stream));
  Samples result;
  for (std::int64_t i = 0; i < samples; ++i) {
    WB_TRY(m_flush.queue(stream));
    WB_TRY_ASSIGN(const Samples one, one_pair(stream, &graph));
    result.call_us.push_back(std::max(one.call_us.front() - empty_us, 0.0));
    result.wall_us += one.wall_us;
  }
  return result;
}

}  // namespace wb::worker::cuda
