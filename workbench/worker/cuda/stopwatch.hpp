// SPDX-License-Identifier: MIT
// Stopwatch: a GPU's clock around queued calls, as the plans `hot` and `cold` time them (design
// 4.8). It runs beside untrusted code in the subject's process; its supervisor checks the sums
// against a clock of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/cuda/cache_flush.hpp"
#include "worker/cuda/gate.hpp"
#include "worker/cuda/graph.hpp"

namespace wb::worker::cuda {

/// What the host saw of a block of samples.
struct Samples {
  std::vector<double> call_us;  ///< one a sample, of one call
  double wall_us = 0;  ///< host's clock from opening the gate to the end of the last sample
};

class Stopwatch {
 public:
  /// Reserves what flushing the caches needs. Errors: environment (no device code), limit.
  static CudaResult<Stopwatch> create(const Stream& stream);

  /// `samples` launches (1 or more) of a graph that holds `calls` calls, back to back behind one
  /// gate: the end of one sample is the start of the next, so their sum is the whole block. Launch
  /// the graph once before: its first launch is slower.
  [[nodiscard]] CudaResult<Samples> hot(const Stream& stream, const Graph& graph,
                                        std::int64_t calls, std::int64_t samples);
  /// One call between two events, behind a gate, after the caches were emptied; less the median
  /// empty pair, but never below 0. wall_us is the sum over all samples. The graph holds one call.
  [[nodiscard]] CudaResult<Samples> cold(const Stream& stream, const Graph& graph,
                                         std::int64_t samples);
  /// The median time between two events with nothing between them: about 1 us.
  [[nodiscard]] CudaResult<double> empty_pair_us(const Stream& stream);

 private:
  Stopwatch(ContextPtr context, Gate gate, CacheFlush flush)
      : m_context(std::move(context)), m_gate(std::move(gate)), m_flush(std::move(flush)) {}
  [[nodiscard]] CudaResult<void> provide_events(std::size_t count);
  /// One event, `graph` if there is one, another event, behind a gate.
  [[nodiscard]] CudaResult<Samples> one_pair(const Stream& stream, const Graph* graph);

  ContextPtr m_context;
  Gate m_gate;
  CacheFlush m_flush;
  std::vector<Event> m_events;
};

}  // namespace wb::worker::cuda
