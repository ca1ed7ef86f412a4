// SPDX-License-Identifier: MIT
#include "worker/cuda/graph.hpp"

#include <utility>

namespace wb::worker::cuda {

CudaResult<void> Graph::begin(const Stream& stream) {
  const Context& context = *stream.context();
  return context.check(
      context.functions().stream_begin_capture(stream.handle(), k_capture_thread_local), "record",
      "the work of a stream");
}

CudaResult<Graph> Graph::end(const Stream& stream) {
  const ContextPtr& context = stream.context();
  GraphHandle recorded = nullptr;
  WB_TRY(context->check(context->functions().stream_end_capture(stream.handle(), &recorded),
                        "record", "the work of a stream"));
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

}  // namespace wb::worker::cuda
