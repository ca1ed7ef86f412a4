// SPDX-License-Identifier: MIT
// Graph: recorded work of a stream that is launched as one unit, so that the device's clock
// excludes the host's time per call. For the stopwatch.
#pragma once

#include "worker/cuda/stream.hpp"

namespace wb::worker::cuda {

class Graph {
 public:
  /// Records what `enqueue() -> CudaResult<void>` queues on `stream`; nothing runs yet. Errors:
  /// those of enqueue, and environment for operations that cannot be recorded (waiting, the legacy
  /// stream).
  template <typename Enqueue>
  static CudaResult<Graph> record(const Stream& stream, const Enqueue& enqueue) {
    WB_TRY(begin(stream));
    const CudaResult<void> queued = enqueue();
    CudaResult<Graph> graph = end(stream);  // always: the stream must leave its recording state
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
  static CudaResult<Graph> end(const Stream& stream);
  ContextPtr m_context;
  GraphExecHandle m_handle = nullptr;
};

}  // namespace wb::worker::cuda
