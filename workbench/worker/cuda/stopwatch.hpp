// SPDX-License-Identifier: MIT
// Stopwatch: a GPU's clock around queued calls, as the plans `hot`, `cold` and `eager` time them
// (docs/contracts/measurement.md). It runs beside untrusted code in the subject's process; its
// supervisor checks the sums against a clock of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "worker/cuda/cache_flush.hpp"
#include "worker/cuda/gate.hpp"
#include "worker/cuda/graph.hpp"

namespace wb::worker::cuda {

/// What was seen of a block of samples.
struct Samples {
  std::vector<double> call_us;  ///< one a sample, of one call, by the device's clock
  double wall_us = 0;           ///< by the host's, from the start to the end of the last sample
};

/// Called when everything stands ready, right before the device starts.
using OnStart = std::function<void()>;
/// Puts one call on the stream.
using Enqueue = std::function<CudaResult<void>()>;

/// What is beside the samples of a block.
struct BlockHooks {
  OnStart on_start = nullptr;
  Enqueue at_end = nullptr;  ///< queued right behind the last event, before anyone waits
};

class Stopwatch {
 public:
  /// Measures the empty pair. Errors: environment (no device code), limit.
  static CudaResult<Stopwatch> create(const Stream& stream);

  /// `samples` launches (1 or more) of a graph that holds `calls` calls, back to back behind one
  /// gate: the end of one sample is the start of the next, so their sum is the whole block. Launch
  /// the graph once before: its first launch is slower.
  [[nodiscard]] CudaResult<Samples> hot(const Stream& stream, const Graph& graph,
                                        std::int64_t calls, std::int64_t samples,
                                        const BlockHooks& hooks = {});
  /// One launch of a graph that holds one call, between two events behind a gate; less the empty
  /// pair, but never below 0.
  [[nodiscard]] CudaResult<Samples> lone(const Stream& stream, const Graph& graph,
                                         const BlockHooks& hooks = {});
  /// All that `enqueue` puts on the stream between two events behind a gate: one sample. Not
  /// more than the driver takes behind a gate (gate.hpp).
  [[nodiscard]] CudaResult<Samples> chain(const Stream& stream, const Enqueue& enqueue,
                                          const BlockHooks& hooks);
  /// `samples` samples of `calls` calls as their user makes them: queued while the device runs, so
  /// that it waits where the host is slower. Stops at the first call that cannot be queued.
  [[nodiscard]] CudaResult<Samples> eager(const Stream& stream, const Enqueue& call,
                                          std::int64_t calls, std::int64_t samples,
                                          const BlockHooks& hooks = {});
  /// Empties the caches, as lone() wants them for the plan `cold`. The first time it reserves the
  /// memory for that. Errors: limit.
  [[nodiscard]] CudaResult<void> flush(const Stream& stream);

  /// What a call costs that does nothing: an empty kernel, by hot().
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
  /// One event, what `enqueue` queues if there is one, another event, behind a gate.
  [[nodiscard]] CudaResult<Samples> one_pair(const Stream& stream, const Enqueue& enqueue,
                                             const BlockHooks& hooks);
  /// Of events 0 to `samples`, once they have happened. Errors: environment, when a gate before
  /// them opened by itself.
  [[nodiscard]] CudaResult<Samples> read(std::int64_t calls, std::size_t samples, double wall_us);

  ContextPtr m_context;
  Code m_code;
  Gate m_gate;
  std::optional<CacheFlush> m_flush;
  std::vector<Event> m_events;
  double m_empty_pair_us = 0;
};

}  // namespace wb::worker::cuda
