// SPDX-License-Identifier: MIT
// Hot medians as the worker takes them, beside CUPTI's record of the same replays. For
// truth_test.cpp.
#pragma once

#include <memory>

#include "gpu/gpu.hpp"
#include "gpu/kernel_trace.hpp"
#include "problem/problem.hpp"

namespace wb::testing {

/// Medians of one turn, in microseconds. Those of CUPTI are 0 without a trace.
struct Hot {
  double median_us = 0;       ///< of the samples, by the call
  std::int64_t calls = 1;     ///< in one graph
  std::size_t samples = 0;    ///< launches of the graph
  double kernels_us = 0;      ///< CUPTI: the kernels of a sample, by the call
  double gap_us = 0;          ///< CUPTI: between the kernels of a sample and before it, by the call
  double longest_gap_us = 0;  ///< CUPTI: between two kernels
};

/// What CUPTI saw of one block: a figure for each sample, in microseconds by the call. The gaps of
/// a sample are those before each of its kernels, as a hot sample begins where the last one ended;
/// the first sample of a block has none.
struct BlockSpans {
  std::vector<double> kernels_us, gaps_us;
  double longest_gap_us = 0;
};

/// `spans`: all kernels of a block of `samples` graphs that hold `calls` kernels each, and the gate
/// before it.
BlockSpans read_spans(std::vector<KernelSpan> spans, std::int64_t samples, std::int64_t calls);

/// The product's own subject with a variant in it, in this process.
class HotSubject {
 public:
  /// `library`: of one kernel a call, which does not start before the one before it has ended.
  explicit HotSubject(const std::string& library);
  HotSubject(HotSubject&&) = delete;
  ~HotSubject();
  /// A turn of 50 ms of settling and 25 ms of samples.
  Hot take_turn(const problem::Problem& problem, KernelTrace* trace);

 private:
  struct Body;
  std::unique_ptr<Body> m_body;
};

/// Delays of `delay_us`, ended by the device's own clock, ten in a graph, by the product's
/// stopwatch: they last as long traced as untraced.
Hot take_delays(const worker::cuda::ContextPtr& gpu, double delay_us, KernelTrace* trace);

}  // namespace wb::testing
