// SPDX-License-Identifier: MIT
// The subject's own process: loads one variant and calls it on memory of its own; here that on the
// CPU.
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "worker/buffers.hpp"
#include "worker/caches.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/cuda/cuda_subject.hpp"
#include "worker/roles.hpp"
#include "worker/subject_loop.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker {
namespace {

constexpr std::size_t k_sweep_bytes = 64u << 20;

/// A problem whose tensors are in place for timing.
struct Stage {
  Stage(VariantPlan made_plan, const Problem& problem, std::int64_t number)
      : plan(std::move(made_plan)),
        buffers(problem, plan.workspace_bytes(), true, Placing::scattered),
        placement(number) {}
  VariantPlan plan;
  BufferSet buffers;
  std::int64_t placement;
  double refill_us = 0;
};

class CpuSubject final : public SubjectBody {
 public:
  Outcome<void> load(const LoadOrder& order) override;
  Outcome<double> run(const RunOrder& order) override;
  Outcome<TurnAnswer> turn(TurnOrder order) override;
  Outcome<void> prime(const PrimeOrder& order) override;
  Outcome<std::int64_t> go(const GoOrder& order, const std::function<void()>& started) override;
  Outcome<std::vector<std::int64_t>> show() override;

 private:
  Outcome<void> set_stage(const TurnOrder& order);
  void flush_stage();
  [[nodiscard]] wb_sdpa_args args_of(const BufferSet& buffers) const;
  [[nodiscard]] Outcome<void> checked(int status) const;

  VariantApi m_api;
  int m_threads = 1;
  std::unique_ptr<Stage> m_stage;
  std::vector<std::int64_t> m_sample_ns;  // of the last block
  bool m_args_per_call = false;           // the eager plan: the call as its user makes it
  Mapping m_shown;
  GuardedMemory m_sweep;
};

Outcome<void> CpuSubject::checked(int status) const {
  if (status == WB_OK) return {};
  return call_failure(m_api, "wb_sdpa_forward", status);
}

wb_sdpa_args CpuSubject::args_of(const BufferSet& buffers) const {
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  args.q = buffers.q.bytes().data();
  args.k = buffers.k.bytes().data();
  args.v = buffers.v.bytes().data();
  args.mask = buffers.mask.bytes().data();
  args.out = buffers.out.bytes().data();
  args.workspace = buffers.workspace.bytes().data();
  args.threads = m_threads;
  return args;
}

Outcome<void> CpuSubject::load(const LoadOrder& order) {
  m_threads = order.threads;
  Outcome<VariantApi> api = order.builtin.empty() ? load_library(order.path, order.build_id)
                                                  : builtin_variant(order.builtin);
  if (!api.ok()) return std::move(api).error();
  m_api = *api;
  return {};
}

Outcome<double> CpuSubject::run(const RunOrder& order) {
  const std::size_t lse_bytes = order.lse ? order.lse->bytes().size() : 0;
  auto plan = VariantPlan::create(m_api, order.problem, order.lse.has_value(), k_no_gpu);
  if (!plan.ok()) return std::move(plan).error();
  BufferSet buffers(order.problem, plan->workspace_bytes(), true, Placing::flush_end);
  const GuardedMemory own_lse(lse_bytes, Placing::flush_end);
  // The poison that shows what was never written.
  std::memcpy(buffers.out.bytes().data(), order.out.bytes().data(), order.out.bytes().size());
  if (order.lse) std::memcpy(own_lse.bytes().data(), order.lse->bytes().data(), lse_bytes);
  buffers.refill(order.seed, order.draw, m_threads);
  wb_sdpa_args args = args_of(buffers);
  args.lse = order.lse ? reinterpret_cast<float*>(own_lse.bytes().data()) : nullptr;
  const auto begin = std::chrono::steady_clock::now();
  const int status = m_api.forward(plan->get(), &args);
  const double call_us = us_since(begin);
  std::memcpy(order.out.bytes().data(), buffers.out.bytes().data(), order.out.bytes().size());
  if (order.lse) std::memcpy(order.lse->bytes().data(), own_lse.bytes().data(), lse_bytes);
  const char* overrun = own_lse.margins_intact() ? buffers.overrun() : "lse";
  if (overrun != nullptr) return wrote_outside(overrun);
  if (auto called = checked(status); !called.ok()) return std::move(called).error();
  return call_us;
}

Outcome<void> CpuSubject::set_stage(const TurnOrder& order) {
  const bool is_kept =
      m_stage && m_stage->buffers.problem == order.problem && m_stage->placement == order.placement;
  if (!is_kept) {
    auto plan = VariantPlan::create(m_api, order.problem, false, k_no_gpu);
    if (!plan.ok()) return std::move(plan).error();
    // The old buffers live until the new ones are made, so that the addresses differ.
    m_stage = std::make_unique<Stage>(*std::move(plan), order.problem, order.placement);
  }
  const auto begin = std::chrono::steady_clock::now();
  m_stage->buffers.refill(order.seed, Draw::normal, m_threads);
  m_stage->refill_us = us_since(begin);
  return {};
}

Outcome<TurnAnswer> CpuSubject::turn(TurnOrder order) {
  if (auto staged = set_stage(order); !staged.ok()) return std::move(staged).error();
  m_shown = std::move(order.shown);
  m_args_per_call = order.kind == PlanKind::eager;
  int status = WB_OK;
  const wb_sdpa_args args = args_of(m_stage->buffers);
  wb_sdpa_plan* plan = m_stage->plan.get();
  const Settled settled = settle(
      [&](double block_us) {
        return time_calls_for([&] { return m_api.forward(plan, &args); }, block_us, status);
      },
      order.settle_us);
  if (auto called = checked(status); !called.ok()) return std::move(called).error();
  return TurnAnswer{settled.call_us, settled.settled, m_stage->refill_us, can_flush()};
}

void CpuSubject::flush_stage() {
  const BufferSet& buffers = m_stage->buffers;
  if (can_flush()) {
    for (const auto* memory : {&buffers.q, &buffers.k, &buffers.v, &buffers.mask, &buffers.out}) {
      flush_from_caches(memory->bytes());
    }
    return;
  }
  if (m_sweep.bytes().empty()) m_sweep = GuardedMemory(k_sweep_bytes, Placing::flush_end);
  for (std::byte& line : m_sweep.bytes()) line ^= std::byte{1};
}

Outcome<void> CpuSubject::prime(const PrimeOrder& order) {
  if (order.seed) {
    m_stage->buffers.refill(*order.seed, Draw::normal, m_threads);
    if (!order.warm && !order.flush) m_stage->buffers.read_through(m_threads);
  }
  int status = WB_OK;
  if (order.warm) {
    const wb_sdpa_args args = args_of(m_stage->buffers);
    status = m_api.forward(m_stage->plan.get(), &args);
  }
  order.poison.fill(m_stage->buffers.out.bytes());
  if (order.flush) flush_stage();
  return checked(status);
}

Outcome<std::int64_t> CpuSubject::go(const GoOrder& order, const std::function<void()>& started) {
  int status = WB_OK;
  wb_sdpa_plan* plan = m_stage->plan.get();
  const auto begin = std::chrono::steady_clock::now();
  started();
  if (m_args_per_call) {
    m_sample_ns = take_samples(
        [&] {
          const wb_sdpa_args args = args_of(m_stage->buffers);
          return m_api.forward(plan, &args);
        },
        order.samples, order.calls, status);
  } else {
    const wb_sdpa_args args = args_of(m_stage->buffers);
    m_sample_ns = take_samples([&] { return m_api.forward(plan, &args); }, order.samples,
                               order.calls, status);
  }
  const std::chrono::nanoseconds block = std::chrono::steady_clock::now() - begin;
  if (auto called = checked(status); !called.ok()) return std::move(called).error();
  return block.count();
}

Outcome<std::vector<std::int64_t>> CpuSubject::show() {
  std::memcpy(m_shown.bytes().data(), m_stage->buffers.out.bytes().data(), m_shown.bytes().size());
  if (const char* overrun = m_stage->buffers.overrun(); overrun != nullptr) {
    return wrote_outside(overrun);
  }
  return m_sample_ns;
}

}  // namespace

int run_subject(const Channel& channel, std::optional<int> gpu) {
  if (!gpu) {
    CpuSubject subject;
    return serve_subject(channel, subject);
  }
  const auto subject = cuda::CudaSubject::create(*gpu);
  if (!subject.ok()) {
    std::fprintf(stderr, "%s\n", subject.error().message().c_str());  // for the supervisor
    return 1;
  }
  return serve_subject(channel, **subject);
}

}  // namespace wb::worker
