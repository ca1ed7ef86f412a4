// SPDX-License-Identifier: MIT
// Stopwatch: times queued calls by a GPU's clock for the plans `hot`, `cold` and `eager`
// (docs/contracts/measurement.md). It runs beside untrusted code in the subject's process; the
// supervisor checks the sums by its own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "worker/cuda/cache_flush.hpp"
#include "worker/cuda/gate.hpp"
#include "worker/cuda/graph.hpp"

namespace wb::worker::cuda {

/// The times of a block of samples.
struct Samples {
  std::vector<double> call_us;  ///< time of one call for each sample, by the device's clock
  double wall_us = 0;  ///< by the host's clock, from the start to the end of the last sample
};

/// Called when everything is queued, right before the device starts.
using OnStart = std::function<void()>;
/// Queues one call on the stream.
using Enqueue = std::function<CudaResult<void>()>;

/// Callbacks around the samples of a block.
struct BlockHooks {
  OnStart on_start = nullptr;
  Enqueue at_end = nullptr;  ///< queued right after the last event, before any wait
};

class Stopwatch {
 public:
  /// Measures the time of an empty pair of events. Errors: environment (no device code), limit.
  static CudaResult<Stopwatch> create(const Stream& stream);

  /// `samples` launches (1 or more) of a graph that holds `calls` calls, back to back behind one
  /// gate: the end of one sample is the start of the next, so their sum is the whole block. Launch
  /// the graph once before, since its first launch is slower.
  [[nodiscard]] CudaResult<Samples> hot(const Stream& stream, const Graph& graph,
                                        std::int64_t calls, std::int64_t samples,
                                        const BlockHooks& hooks = {});
  /// One launch of a graph with one call, between two events behind a gate; less the empty pair, at
  /// least 0.
  [[nodiscard]] CudaResult<Samples> lone(const Stream& stream, const Graph& graph,
                                         const BlockHooks& hooks = {});
  /// All work that `enqueue` queues, between two events behind a gate, as one sample. The number of
  /// launches is limited by the gate (gate.hpp).
  [[nodiscard]] CudaResult<Samples> chain(const Stream& stream, const Enqueue& enqueue,
                                          const BlockHooks& hooks);
  /// `samples` samples of `calls` calls as a user makes them: queued while the device runs, so that
  /// the device waits for a slower host. Stops at the first call that cannot be queued.
  [[nodiscard]] CudaResult<Samples> eager(const Stream& stream, const Enqueue& call,
                                          std::int64_t calls, std::int64_t samples,
                                          const BlockHooks& hooks = {});
  /// Empties the caches before lone() in the plan `cold`. The first call reserves the memory for
  /// it. Errors: limit.
  [[nodiscard]] CudaResult<void> flush(const Stream& stream);

  /// The time of an empty kernel, by hot().
  [[nodiscard]] CudaResult<double> empty_call_us(const Stream& stream);
  /// The median time between two events with nothing between them: about 1 us.
  [[nodiscard]] double empty_pair_us() const { return m_empty_pair_us; }

 private:
  using Code = std::shared_ptr<const Module>;
  Stopwatch(ContextPtr context, Code code, Gate gate)
      : m_context(std::move(context)), m_code(std::move(code)), m_gate(std::move(gate)) {}
  [[nodiscard]] CudaResult<void> provide_events(std::size_t count);
  [[nodiscard]] CudaResult<void> queue_hot(const Stream& stream, const Graph& graph,
                                           std::size_t from, std::size_t to);
  /// Behind a gate: one event, the work of `enqueue` if given, another event.
  [[nodiscard]] CudaResult<Samples> one_pair(const Stream& stream, const Enqueue& enqueue,
                                             const BlockHooks& hooks);
  /// Reads events 0 to `samples` once they have happened. Errors: environment, when a gate before
  /// them timed out.
  [[nodiscard]] CudaResult<Samples> read(std::int64_t calls, std::size_t samples, double wall_us);

  ContextPtr m_context;
  Code m_code;
  Gate m_gate;
  std::optional<CacheFlush> m_flush;
  std::vector<Event> m_events;
  double m_empty_pair_us = 0;
};

}  // namespace wb::worker::cuda
