// SPDX-License-Identifier: MIT
// How calls are timed on a GPU. Stopwatch times queued calls by the device's clock for the plans
// `hot`, `cold` and `eager` (docs/contracts/measurement.md); a Gate holds the stream while they are
// queued, a Graph launches recorded calls as one unit, and CacheFlush empties the L2 cache. All of
// it runs beside untrusted code in the subject's process; the supervisor checks the sums by its own
// clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "worker/cuda/context.hpp"
#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {

/// A gate opens by itself after this time and then counts as `lapsed`.
inline constexpr std::uint64_t k_gate_limit_ns = 2'000'000'000;

/// Holds a stream while the host queues timed work, so that no host delay falls between two events.
/// Behind a closed gate the driver accepts about 500 launches and then blocks the host (510 on an
/// H200, driver 580, and 1,021 of graphs), so open it before that.
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

/// Recorded work of a stream that is launched as one unit, so that the device's clock excludes the
/// host's time per call.
class Graph {
 public:
  /// Records what `enqueue() -> CudaResult<void>` queues on `stream`; nothing runs yet. Errors:
  /// those of enqueue, and environment for operations that cannot be recorded (waiting, the legacy
  /// stream). `seen`: called with what was recorded before it is made ready.
  template <typename Enqueue>
  static CudaResult<Graph> record(const Stream& stream, const Enqueue& enqueue,
                                  const std::function<void(GraphHandle)>& seen = nullptr) {
    WB_TRY(begin(stream));
    const CudaResult<void> queued = enqueue();
    // Always: the stream must leave its recording state.
    CudaResult<Graph> graph = end(stream, seen);
    WB_TRY(queued);
    return graph;
  }
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();
  [[nodiscard]] CudaResult<void> launch(const Stream& stream) const;

 private:
  Graph(ContextPtr context, GraphExecHandle handle)
      : m_context(std::move(context)), m_handle(handle) {}
  static CudaResult<void> begin(const Stream& stream);
  static CudaResult<Graph> end(const Stream& stream, const std::function<void(GraphHandle)>& seen);
  ContextPtr m_context;
  GraphExecHandle m_handle = nullptr;
};

/// Leaves no line of any tensor in the L2 cache (plan `cold`).
class CacheFlush {
 public:
  /// Reserves four times the L2 cache. `code`: the device code `timing`. Errors: limit.
  static CudaResult<CacheFlush> create(const Stream& stream, const Module& code);
  /// Queues writes of twice the L2 cache, then reads of as much other memory, so that no dirty line
  /// is left for the timed call to write back. Persisting lines are reset at once, so nothing may
  /// be running.
  [[nodiscard]] CudaResult<void> queue(const Stream& stream) const;
  [[nodiscard]] std::size_t size_bytes() const { return m_memory.size_bytes(); }

 private:
  CacheFlush(Kernel read, DeviceBuffer memory, DeviceBuffer sum)
      : m_read(std::move(read)), m_memory(std::move(memory)), m_sum(std::move(sum)) {}
  Kernel m_read;
  DeviceBuffer m_memory, m_sum;
};

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
  /// launches is limited by the gate (Gate).
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
