// SPDX-License-Identifier: MIT
#include "gpu/hot_turn.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "measure/quantiles.hpp"
#include "worker/cuda/cuda_subject.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/module.hpp"
#include "worker/hand_over.hpp"
#include "worker/turn_plan.hpp"

namespace wb::testing {

using measure::Plan;

using namespace worker;
using namespace worker::cuda;

namespace {

/// That of the workbench's turns, but longer: a median of more samples.
Plan hot_plan() {
  Plan plan;
  plan.settle_us = 50'000;
  plan.timed_us = 25'000;
  plan.min_samples = 5;
  return plan;
}

template <typename T, typename E>
T must(Expected<T, E> result, const std::string& what) {
  if constexpr (requires { result.error().message(); }) {
    INFO(what << (result.ok() ? "" : ": " + result.error().message()));
    REQUIRE(result.ok());
  } else {
    INFO(what << (result.ok() ? "" : ": " + result.error().message));
    REQUIRE(result.ok());
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::string build_id_of(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto id = reinterpret_cast<const char* (*)()>(dlsym(library, "wb_sdpa_build_id"));
  return id != nullptr ? id() : "";
}

std::vector<KernelSpan> take_spans(KernelTrace& trace) {
  std::string why;
  auto spans = trace.take(why);
  INFO("CUPTI: " << why);
  REQUIRE(spans.has_value());
  return *std::move(spans);
}

}  // namespace

BlockSpans read_spans(std::vector<KernelSpan> spans, std::int64_t samples, std::int64_t calls) {
  // The gate before the block is a launch of its own. Where CUPTI does not tell nodes from
  // launches, it is the first.
  const auto is_node = [](const KernelSpan& span) { return span.in_graph; };
  if (std::any_of(spans.begin(), spans.end(), is_node)) {
    std::erase_if(spans, [](const KernelSpan& span) { return !span.in_graph; });
  } else if (!spans.empty()) {
    spans.erase(spans.begin());
  }
  const auto each = static_cast<std::size_t>(calls);
  INFO("the kernels of " << samples << " graphs of " << calls << " calls, one kernel a call");
  REQUIRE(spans.size() == static_cast<std::size_t>(samples) * each);
  BlockSpans block;
  double kernels_us = 0, gaps_us = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    REQUIRE(spans[i].end_ns >= spans[i].begin_ns);
    kernels_us += static_cast<double>(spans[i].end_ns - spans[i].begin_ns) * 1e-3;
    if (i > 0) {
      const auto gap_ns = static_cast<std::int64_t>(spans[i].begin_ns) -
                          static_cast<std::int64_t>(spans[i - 1].end_ns);
      gaps_us += static_cast<double>(gap_ns) * 1e-3;
      block.longest_gap_us = std::max(block.longest_gap_us, static_cast<double>(gap_ns) * 1e-3);
    }
    if ((i + 1) % each != 0) continue;
    block.kernels_us.push_back(kernels_us / static_cast<double>(calls));
    // Before the first sample is the gate.
    if (i >= each) block.gaps_us.push_back(gaps_us / static_cast<double>(calls));
    kernels_us = gaps_us = 0;
  }
  return block;
}

struct HotSubject::Body {
  std::unique_ptr<CudaSubject> subject;
};

HotSubject::HotSubject(const std::string& library)
    : m_body(std::make_unique<Body>(must(CudaSubject::create(0), "a subject"))) {
  LoadOrder order;
  order.path = library;
  order.build_id = build_id_of(library);
  must(m_body->subject->load(order), "loading");
}

HotSubject::~HotSubject() = default;

/// A turn as the worker has its subject do it (turn.cpp), without judge and second witness. With a
/// trace, what CUPTI saw of the very blocks that were timed stands in the answer, too.
Hot HotSubject::take_turn(const problem::Problem& problem, KernelTrace* trace) {
  SubjectBody& subject = *m_body->subject;
  const problem::Poison poison = draw_poison();
  const SharedMemory out =
      must(make_output("shown", problem::out_bytes(problem), poison), "an output");
  const Plan plan = hot_plan();
  TurnOrder order;
  order.problem = problem;
  order.seed = 1;
  order.settle_us = plan.settle_us;
  order.shown = must(Mapping::of(out.fd(), problem::out_bytes(problem), true), "a mapping");
  const TurnAnswer answer = must(subject.turn(std::move(order)), "settling");
  const BlockPlan blocks = plan_blocks(plan, answer.call_us, answer.refill_us, Clock::device);
  Hot hot;
  hot.calls = blocks.calls_per_sample;
  std::vector<double> samples_us, kernels_us, gaps_us;
  for (std::int64_t i = 0; i < blocks.blocks; ++i) {
    PrimeOrder prime;
    prime.calls = blocks.calls_per_sample;
    prime.poison = poison;
    prime.warm = i % blocks.refill_every == 0;
    if (prime.warm) prime.seed = static_cast<std::uint32_t>(i + 2);
    must(subject.prime(prime), "priming");
    if (trace != nullptr) take_spans(*trace);  // what was not timed
    must(subject.go({blocks.samples_per_block, hot.calls}, [] {}), "a block");
    std::vector<KernelSpan> spans;
    if (trace != nullptr) spans = take_spans(*trace);
    for (const std::int64_t ns : must(subject.show(), "its samples")) {
      samples_us.push_back(static_cast<double>(ns) * 1e-3 / static_cast<double>(hot.calls));
    }
    if (trace == nullptr) continue;
    const BlockSpans seen = read_spans(std::move(spans), blocks.samples_per_block, hot.calls);
    kernels_us.insert(kernels_us.end(), seen.kernels_us.begin(), seen.kernels_us.end());
    gaps_us.insert(gaps_us.end(), seen.gaps_us.begin(), seen.gaps_us.end());
    hot.longest_gap_us = std::max(hot.longest_gap_us, seen.longest_gap_us);
  }
  hot.samples = samples_us.size();
  hot.median_us = measure::median(samples_us);
  if (trace != nullptr) {
    hot.kernels_us = measure::median(kernels_us);
    hot.gap_us = gaps_us.empty() ? 0 : measure::median(gaps_us);
  }
  return hot;
}

Hot take_delays(const ContextPtr& gpu, double delay_us, KernelTrace* trace) {
  constexpr std::int64_t k_calls = 10, k_samples = 25;
  const auto delay_ns = static_cast<std::uint64_t>(delay_us * 1e3);
  const auto stream = must(Stream::create(gpu), "a stream");
  auto stopwatch = must(Stopwatch::create(stream), "a stopwatch");
  const auto module = must(Module::load(gpu, device_code().value().timing, "timing"), "a module");
  const Kernel spin = must(module->kernel("wb_spin"), "a kernel");
  const Graph graph = must(
      Graph::record(stream,
                    [&]() -> CudaResult<void> {
                      for (std::int64_t i = 0; i < k_calls; ++i) {
                        WB_TRY(spin.launch(stream, {}, worker::cuda::device::SpinParams{delay_ns}));
                      }
                      return {};
                    }),
      "a graph");
  must(graph.launch(stream), "a launch");
  must(stream.synchronize(), "waiting");
  if (trace != nullptr) take_spans(*trace);
  Hot hot;
  hot.median_us =
      measure::median(must(stopwatch.hot(stream, graph, k_calls, k_samples), "delays").call_us);
  if (trace == nullptr) return hot;
  const BlockSpans seen = read_spans(take_spans(*trace), k_samples, k_calls);
  hot.kernels_us = measure::median(seen.kernels_us);
  hot.gap_us = measure::median(seen.gaps_us);
  return hot;
}

}  // namespace wb::testing
