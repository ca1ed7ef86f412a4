// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_subject.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "measure/quantiles.hpp"
#include "worker/builtin.hpp"
#include "worker/cuda/buffer_set.hpp"
#include "worker/cuda/graph_launches.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker::cuda {

using measure::PlanKind;

namespace {

constexpr double k_graph_us = 200;       // approximate duration of a settling graph's launch
constexpr double k_least_call_us = 0.2;  // limits the graph of an empty call
constexpr std::int64_t k_settle_samples = 4'000;
constexpr int k_first_calls = 3;
constexpr std::size_t k_most_graphs = 8;
constexpr std::size_t k_set_alignment = 256;

/// The place of one input in a set of inputs.
struct InputPart {
  problem::Tensor tensor = problem::Tensor::q;
  const GuardedDeviceBuffer* buffer = nullptr;
  std::size_t offset = 0;
  [[nodiscard]] std::size_t end() const {
    return (offset + buffer->size_bytes() + k_set_alignment - 1) / k_set_alignment *
           k_set_alignment;
  }
};

std::vector<InputPart> inputs_of(const DeviceBufferSet& buffers) {
  std::vector<InputPart> parts;
  for (const auto& [tensor, buffer] :
       {std::pair{problem::Tensor::q, &buffers.q}, std::pair{problem::Tensor::k, &buffers.k},
        std::pair{problem::Tensor::v, &buffers.v},
        std::pair{problem::Tensor::mask, &buffers.mask}}) {
    if (buffer->size_bytes() == 0) continue;
    parts.push_back({tensor, buffer, parts.empty() ? 0 : parts.back().end()});
  }
  return parts;
}

/// The preparation of a call in a chain: its inputs, and the graph that copies them and a poison to
/// the call's buffers. It is one launch because with several the device's time scattered by 4 %.
struct Link {
  DeviceBuffer inputs;
  Graph put;
};

std::int64_t count_for(double whole_us, double part_us, std::int64_t most) {
  const double count = std::ceil(whole_us / std::max(part_us, k_least_call_us));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(count), 1, most);
}

}  // namespace

/// A problem with its tensors in place for timing. The graphs contain calls with these buffers.
struct CudaSubject::Stage {
  Stage(VariantPlan made_plan, DeviceBufferSet made_buffers, std::int64_t number)
      : plan(std::move(made_plan)), buffers(std::move(made_buffers)), placement(number) {}
  VariantPlan plan;
  DeviceBufferSet buffers;
  std::int64_t placement;
  bool want_lse = false;
  std::int64_t loan = 0;  // the number of the outputs' loan, if they are the judge's
  double refill_us = 0;
  PlanKind kind = PlanKind::hot;
  DeviceBuffer poison;      // for the outputs of a chain
  std::vector<Link> links;  // of a chain
  Mapping shown;
  SharedBuffer snap;                            // empty: show the content of out
  std::map<std::int64_t, Graph> graphs;         // by the number of their calls
  std::vector<measure::KernelLaunch> launches;  // of one call, from the first graph
};

CudaSubject::CudaSubject(int ordinal, Stream stream, GpuInputs inputs, Stopwatch stopwatch)
    : m_ordinal(ordinal),
      m_stream(std::move(stream)),
      m_inputs(std::move(inputs)),
      m_stopwatch(std::move(stopwatch)) {}

CudaSubject::~CudaSubject() = default;

CudaResult<std::unique_ptr<CudaSubject>> CudaSubject::create(int ordinal) {
  WB_TRY_ASSIGN(DriverPtr driver, Driver::load());
  WB_TRY_ASSIGN(const ContextPtr context, Context::create(std::move(driver), ordinal));
  WB_TRY_ASSIGN(Stream stream, Stream::create(context));
  WB_TRY_ASSIGN(GpuInputs inputs, GpuInputs::create(context));
  WB_TRY_ASSIGN(Stopwatch stopwatch, Stopwatch::create(stream));
  return std::unique_ptr<CudaSubject>(
      new CudaSubject(ordinal, std::move(stream), std::move(inputs), std::move(stopwatch)));
}

Failure CudaSubject::failure(const Fault& fault) const {
  if (m_status != WB_OK) return call_failure(m_api, "wb_sdpa_forward", m_status);
  return runtime_failure(fault.message());
}

Outcome<void> CudaSubject::checked(const CudaResult<void>& done) const {
  if (!done.ok()) return failure(done.error());
  return {};
}

CudaResult<void> CudaSubject::finish() const {
  return m_stream.context()->synchronize();
}

CudaResult<void> CudaSubject::call(wb_sdpa_plan* plan, const wb_sdpa_args& args) {
  m_status = m_api.forward(plan, &args);
  if (m_status == WB_OK) return {};
  return Fault{
      {ErrorCode::invalid, "call", "the variant", "it failed", ""}};  // m_status has the cause
}

CudaResult<void> CudaSubject::call_on_stage() {
  return call(m_stage->plan.get(), args_of(m_stage->buffers, m_stream));
}

Outcome<void> CudaSubject::load(const LoadOrder& order) {
  WB_TRY_ASSIGN(auto api, order.builtin.empty() ? load_library(order.path, order.build_id)
                                                : builtin_variant(order.builtin, m_stream));
  m_api = std::move(api);
  m_api.leaving = order.leaving;
  return {};
}

CudaResult<const char*> CudaSubject::call_beside(const VariantPlan& plan,
                                                 const problem::Problem& problem,
                                                 std::uint32_t seed) {
  WB_TRY_ASSIGN(
      const DeviceBufferSet buffers,
      DeviceBufferSet::create(m_stream, problem, {.workspace_bytes = plan.workspace_bytes()}, 0));
  WB_TRY(buffers.refill(m_stream, m_inputs, seed, problem::Draw::normal));
  WB_TRY(finish());
  WB_TRY(call(plan.get(), args_of(buffers, m_stream)));
  WB_TRY(finish());
  return buffers.overrun(m_stream);
}

Outcome<std::optional<VariantPlan>> CudaSubject::plan_beside(const RunOrder& order) {
  if (!order.form.beside) return std::optional<VariantPlan>();
  WB_TRY_ASSIGN(auto plan, VariantPlan::create(m_api, *order.form.beside, false, m_ordinal));
  const auto overrun = call_beside(plan, *order.form.beside, order.seed ^ k_earlier_seed_change);
  if (!overrun.ok()) return failure(overrun.error());
  if (*overrun != nullptr) return wrote_outside(*overrun);
  if (order.form.beside_is_gone) return std::optional<VariantPlan>();
  return std::optional<VariantPlan>(std::move(plan));
}

CudaResult<SharedBuffer> CudaSubject::borrow(const LentMemory::Part& part) const {
  if (part.bytes == 0) return SharedBuffer();
  return SharedBuffer::import(m_stream.context(), part.fd.get(), part.bytes);
}

CudaResult<BorrowedOutputs> CudaSubject::borrow(const LentMemory& lent) const {
  BorrowedOutputs outputs;
  WB_TRY_ASSIGN(outputs.out, borrow(lent.out));
  WB_TRY_ASSIGN(outputs.lse, borrow(lent.lse));
  return outputs;
}

CudaResult<void> CudaSubject::snap() const {
  const SharedBuffer& to = m_stage->snap;
  if (to.size_bytes() == 0) return {};
  const GuardedDeviceBuffer& out = m_stage->buffers.out;
  return queue_copy(to.address(), out.address(), out.size_bytes());
}

CudaResult<void> CudaSubject::queue_copy(DeviceAddress to, DeviceAddress from,
                                         std::size_t size_bytes) const {
  const Context& context = *m_stream.context();
  return context.check(
      context.functions().memcpy_on_device(to, from, size_bytes, m_stream.handle()), "copy",
      "tensors");
}

Outcome<double> CudaSubject::run(const RunOrder& order) {
  m_status = WB_OK;
  const problem::CallForm& form = order.form;
  WB_TRY_ASSIGN(auto plan,
                VariantPlan::create(m_api, order.problem, order.want_lse, m_ordinal, form));
  WB_TRY_ASSIGN(const auto beside, plan_beside(order));
  auto borrowed = borrow(order.lent);
  if (!borrowed.ok()) return failure(borrowed.error());
  auto made = DeviceBufferSet::create(
      m_stream, order.problem,
      {.workspace_bytes = plan.workspace_bytes(), .with_lse = order.want_lse, .form = form}, 0,
      *std::move(borrowed));
  if (!made.ok()) return failure(made.error());
  const DeviceBufferSet& buffers = *made;
  const bool is_lent = order.lent.is_there();
  double call_us = 0;
  const char* overrun = nullptr;
  const auto work = [&]() -> CudaResult<void> {
    if (form.call > 1) {
      WB_TRY(buffers.refill(m_stream, m_inputs, order.seed ^ k_earlier_seed_change, order.draw));
      CudaResult<void> called;
      make_earlier_calls(form, [&] {
        called = call(plan.get(), args_of(buffers, m_stream));
        return called.ok();
      });
      WB_TRY(called);
      WB_TRY(finish());
    }
    // The poison reveals unwritten elements; memory of the judge's already holds it.
    if (!is_lent) WB_TRY(buffers.put_out(m_stream, order.out.bytes()));
    if (order.lse) WB_TRY(copy_to_device(m_stream, buffers.lse.address(), order.lse->bytes()));
    WB_TRY(buffers.refill(m_stream, m_inputs, order.seed, order.draw));
    WB_TRY(finish());
    const auto begin = std::chrono::steady_clock::now();
    WB_TRY(call(plan.get(), args_of(buffers, m_stream)));
    WB_TRY(finish());
    call_us = us_since(begin);
    if (!is_lent) WB_TRY(buffers.take_out(m_stream, order.out.bytes()));
    if (order.lse) WB_TRY(copy_to_host(m_stream, order.lse->bytes(), buffers.lse.address()));
    WB_TRY_ASSIGN(overrun, buffers.overrun(m_stream));
    return {};
  };
  WB_TRY(checked(work()));
  if (overrun != nullptr) return wrote_outside(overrun);
  return call_us;
}

Outcome<void> CudaSubject::set_stage(TurnOrder& order) {
  const bool is_kept = m_stage && m_stage->buffers.problem == order.problem &&
                       m_stage->placement == order.placement &&
                       m_stage->want_lse == order.want_lse && m_stage->loan == order.lent.number;
  if (!is_kept) {
    WB_TRY_ASSIGN(auto plan, VariantPlan::create(m_api, order.problem, order.want_lse, m_ordinal));
    auto borrowed = borrow(order.lent);
    if (!borrowed.ok()) return failure(borrowed.error());
    auto buffers = DeviceBufferSet::create(
        m_stream, order.problem,
        {.workspace_bytes = plan.workspace_bytes(), .with_lse = order.want_lse}, order.placement,
        *std::move(borrowed));
    if (!buffers.ok()) return failure(buffers.error());
    // The old buffers live until the new ones are made, so that the addresses differ.
    m_stage = std::make_unique<Stage>(std::move(plan), *std::move(buffers), order.placement);
    m_stage->want_lse = order.want_lse;
    m_stage->loan = order.lent.number;
    auto snap = borrow(order.lent.snap);
    if (!snap.ok()) return failure(snap.error());
    m_stage->snap = *std::move(snap);
  }
  const auto begin = std::chrono::steady_clock::now();
  CudaResult<void> filled = m_stage->buffers.refill(m_stream, m_inputs, order.seed, order.draw);
  if (filled.ok()) filled = finish();
  m_stage->refill_us = us_since(begin);
  return checked(filled);
}

CudaResult<const Graph*> CudaSubject::graph_of(std::int64_t calls) {
  auto& graphs = m_stage->graphs;
  if (const auto found = graphs.find(calls); found != graphs.end()) return &found->second;
  if (graphs.size() >= k_most_graphs) graphs.clear();
  const auto queue_calls = [&]() -> CudaResult<void> {
    for (std::int64_t i = 0; i < calls; ++i) WB_TRY(call_on_stage());
    return {};
  };
  const auto look = [&](GraphHandle recorded) {
    if (!m_stage->launches.empty()) return;
    m_stage->launches = read_launches(m_stream.context()->functions(), recorded, calls);
  };
  WB_TRY_ASSIGN(Graph graph, Graph::record(m_stream, queue_calls, look));
  WB_TRY(graph.launch(m_stream));  // the first launch of a graph is slower
  WB_TRY(finish());
  return &graphs.emplace(calls, std::move(graph)).first->second;
}

CudaResult<Samples> CudaSubject::sample(std::int64_t calls, std::int64_t samples,
                                        const BlockHooks& hooks) {
  if (m_stage->kind == PlanKind::eager) {
    return m_stopwatch.eager(
        m_stream, [this] { return call_on_stage(); }, calls, samples, hooks);
  }
  WB_TRY_ASSIGN(const Graph* graph, graph_of(calls));
  if (m_stage->kind == PlanKind::cold) return m_stopwatch.lone(m_stream, *graph, hooks);
  return m_stopwatch.hot(m_stream, *graph, calls, samples, hooks);
}

CudaResult<void> CudaSubject::provide_links(std::size_t count) {
  const DeviceBufferSet& buffers = m_stage->buffers;
  const std::vector<InputPart> parts = inputs_of(buffers);
  DeviceBuffer& poison = m_stage->poison;
  if (poison.size_bytes() == 0) {
    WB_TRY_ASSIGN(poison, DeviceBuffer::allocate(m_stream.context(), buffers.out.size_bytes()));
  }
  while (m_stage->links.size() < count) {
    WB_TRY_ASSIGN(DeviceBuffer inputs,
                  DeviceBuffer::allocate(m_stream.context(), parts.back().end()));
    WB_TRY_ASSIGN(Graph put, Graph::record(m_stream, [&]() -> CudaResult<void> {
                    for (const InputPart& part : parts) {
                      WB_TRY(queue_copy(part.buffer->address(), inputs.address() + part.offset,
                                        part.buffer->size_bytes()));
                    }
                    return queue_copy(buffers.out.address(), poison.address(),
                                      buffers.out.size_bytes());
                  }));
    WB_TRY(put.launch(m_stream));  // the first launch of a graph is slower
    m_stage->links.push_back({std::move(inputs), std::move(put)});
  }
  return {};
}

/// Each call is a launch of the graph that single calls on fresh inputs use, so that the variant
/// cannot tell that others follow. Its inputs are made beforehand elsewhere and copied, since
/// making them takes several times as long as the call. Each call has its own source, even for
/// equal inputs, so that all sources are equally cold: with one shared source, calls on an H200
/// looked faster by a fifth of 13 us.
CudaResult<Samples> CudaSubject::sample(const ChainOrder& order, const BlockHooks& hooks) {
  const DeviceBufferSet& buffers = m_stage->buffers;
  const std::size_t count = order.seeds.size();
  WB_TRY_ASSIGN(const Graph* graph, graph_of(1));
  WB_TRY(provide_links(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (const InputPart& part : inputs_of(buffers)) {
      WB_TRY(m_inputs.fill(m_stream, buffers.problem, order.seeds[i], part.tensor,
                           problem::Draw::normal,
                           m_stage->links[i].inputs.address() + part.offset));
    }
  }
  const DeviceBuffer& poison = m_stage->poison;
  WB_TRY(m_inputs.poison(m_stream, order.poison, poison.address(), poison.size_bytes()));
  WB_TRY(finish());
  return m_stopwatch.chain(
      m_stream,
      [&]() -> CudaResult<void> {
        for (std::size_t i = 0; i < count; ++i) {
          WB_TRY(m_stage->links[i].put.launch(m_stream));
          if (order.with_calls) WB_TRY(graph->launch(m_stream));
        }
        return {};
      },
      hooks);
}

/// An estimate of a call's time. The first calls load the code and may set up later ones.
CudaResult<double> CudaSubject::first_calls() {
  WB_TRY(call_on_stage());
  WB_TRY(finish());
  WB_TRY_ASSIGN(const Samples samples,
                m_stopwatch.eager(
                    m_stream, [this] { return call_on_stage(); }, 1, k_first_calls));
  return measure::median(samples.call_us);
}

CudaResult<Settled> CudaSubject::settle_stage(double settle_us) {
  WB_TRY_ASSIGN(const double first_us, first_calls());
  const std::int64_t calls = count_for(k_graph_us, first_us, k_most_graph_calls);
  const bool is_eager = m_stage->kind == PlanKind::eager;
  const Graph* graph = nullptr;
  if (!is_eager) {
    WB_TRY_ASSIGN(graph, graph_of(calls));
  }
  CudaResult<void> done;
  const Settled settled = settle(
      [&](double block_us) -> std::optional<double> {
        const std::int64_t samples =
            count_for(block_us, static_cast<double>(calls) * first_us, k_settle_samples);
        const auto block = is_eager
                               ? m_stopwatch.eager(
                                     m_stream, [this] { return call_on_stage(); }, calls, samples)
                               : m_stopwatch.hot(m_stream, *graph, calls, samples);
        if (block.ok()) return measure::median(block->call_us);
        done = block.error();
        return std::nullopt;
      },
      settle_us);
  WB_TRY(done);
  WB_TRY(finish());
  return settled;
}

Outcome<TurnAnswer> CudaSubject::turn(TurnOrder order) {
  m_status = WB_OK;
  WB_TRY(set_stage(order));
  m_stage->shown = std::move(order.shown);
  m_stage->kind = order.kind;
  const auto settled = settle_stage(order.settle_us);
  if (!settled.ok()) return failure(settled.error());
  return TurnAnswer{settled->call_us, settled->settled, m_stage->refill_us, true,
                    m_stage->launches};
}

Outcome<void> CudaSubject::prime(const PrimeOrder& order) {
  m_status = WB_OK;
  const auto work = [&]() -> CudaResult<void> {
    const DeviceBufferSet& buffers = m_stage->buffers;
    // Before the inputs are refreshed, since preparing a graph launches it.
    if (m_stage->kind != PlanKind::eager) WB_TRY(graph_of(order.calls));
    if (order.seed) WB_TRY(buffers.refill(m_stream, m_inputs, *order.seed, order.draw));
    if (order.warm) WB_TRY(call_on_stage());
    WB_TRY(
        m_inputs.poison(m_stream, order.poison, buffers.out.address(), buffers.out.size_bytes()));
    WB_TRY(m_inputs.poison(m_stream, order.lse_poison, buffers.lse.address(),
                           buffers.lse.size_bytes()));
    WB_TRY(finish());
    if (order.flush) WB_TRY(m_stopwatch.flush(m_stream));
    return finish();
  };
  return checked(work());
}

Outcome<std::int64_t> CudaSubject::go(const GoOrder& order, const std::function<void()>& started) {
  m_status = WB_OK;
  if (m_stage->kind == PlanKind::cold && (order.samples != 1 || order.calls != 1)) {
    return runtime_failure("a cold block is one call");
  }
  m_sample_ns.clear();
  const BlockHooks hooks{started, [this] { return snap(); }};
  const auto samples =
      order.chain ? sample(*order.chain, hooks) : sample(order.calls, order.samples, hooks);
  if (!samples.ok()) return failure(samples.error());
  // Work on other streams is waited for while the supervisor's clock runs.
  WB_TRY(checked(finish()));
  WB_TRY(copy_out());
  std::int64_t block_ns = 0;
  for (const double us : samples->call_us) {
    const double ns = us * static_cast<double>(order.calls) * 1e3;
    m_sample_ns.push_back(std::max<std::int64_t>(std::llround(ns), 1));
    block_ns += m_sample_ns.back();
  }
  return block_ns;
}

Outcome<void> CudaSubject::copy_out() {
  return checked(copy_to_host(m_stream, m_stage->shown.bytes(), m_stage->buffers.out.address()));
}

Outcome<std::vector<std::int64_t>> CudaSubject::show() {
  m_status = WB_OK;
  const DeviceBufferSet& buffers = m_stage->buffers;
  const auto overrun = buffers.overrun(m_stream);
  if (!overrun.ok()) return failure(overrun.error());
  if (*overrun != nullptr) return wrote_outside(*overrun);
  return m_sample_ns;
}

}  // namespace wb::worker::cuda
