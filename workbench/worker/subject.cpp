// SPDX-License-Identifier: MIT
// The subject's process: loads one variant and calls it on its own memory; this is the CPU's.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "worker/buffers.hpp"
#include "worker/builtin.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/cuda/cuda_subject.hpp"
#include "worker/roles.hpp"
#include "worker/subject_loop.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker {
namespace {

constexpr std::size_t k_sweep_bytes = 64u << 20;

/// A problem with its tensors in place for calls.
struct Stage {
  Stage(VariantPlan made_plan, const TurnOrder& order)
      : plan(std::move(made_plan)),
        buffers(order.problem, plan.workspace_bytes(), false, order.placing),
        placement(order.placement),
        want_lse(order.want_lse) {}
  VariantPlan plan;
  BufferSet buffers;
  std::int64_t placement;
  bool want_lse;
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
  Outcome<void> set_stage(TurnOrder& order);
  void flush_stage();
  /// Makes and calls the plan that the order has beside the judged one.
  Outcome<std::optional<VariantPlan>> plan_beside(const RunOrder& order);
  [[nodiscard]] wb_sdpa_args args_of(const BufferSet& buffers) const;
  [[nodiscard]] Outcome<void> checked(int status) const;

  VariantApi m_api;
  int m_threads = 1;
  std::unique_ptr<Stage> m_stage;
  std::vector<std::int64_t> m_sample_ns;  // of the last block
  bool m_args_per_call = false;           // the eager plan: sets up each call as a user does
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
  args.lse = reinterpret_cast<float*>(buffers.lse.bytes().data());  // null unless wanted
  args.workspace = buffers.workspace.bytes().data();
  args.threads = m_threads;
  return args;
}

Outcome<void> CpuSubject::load(const LoadOrder& order) {
  m_threads = order.threads;
  WB_TRY_ASSIGN(auto api, order.builtin.empty() ? load_library(order.path, order.build_id)
                                                : builtin_variant(order.builtin));
  m_api = std::move(api);
  m_api.leaving = order.leaving;
  return {};
}

Outcome<std::optional<VariantPlan>> CpuSubject::plan_beside(const RunOrder& order) {
  if (!order.form.beside) return std::optional<VariantPlan>();
  const problem::Problem& problem = *order.form.beside;
  WB_TRY_ASSIGN(auto plan, VariantPlan::create(m_api, problem, false, k_no_gpu));
  BufferSet buffers(problem, plan.workspace_bytes(), true, Placing::flush_end);
  buffers.refill(order.seed ^ k_earlier_seed_change, problem::Draw::normal, m_threads);
  const wb_sdpa_args args = args_of(buffers);
  WB_TRY(checked(m_api.forward(plan.get(), &args)));
  if (const char* overrun = buffers.overrun(); overrun != nullptr) return wrote_outside(overrun);
  if (order.form.beside_is_gone) return std::optional<VariantPlan>();
  return std::optional<VariantPlan>(std::move(plan));
}

Outcome<double> CpuSubject::run(const RunOrder& order) {
  const problem::CallForm& form = order.form;
  const std::size_t lse_bytes = order.lse ? order.lse->bytes().size() : 0;
  WB_TRY_ASSIGN(auto plan,
                VariantPlan::create(m_api, order.problem, order.lse.has_value(), k_no_gpu, form));
  WB_TRY_ASSIGN(const auto beside, plan_beside(order));
  BufferSet buffers(order.problem, plan.workspace_bytes(), true, Placing::flush_end, form);
  buffers.lse = GuardedMemory(lse_bytes, Placing::flush_end,
                              static_cast<std::size_t>(form.lse_shift) * sizeof(float));
  wb_sdpa_args args = args_of(buffers);
  if (form.threads > 0) args.threads = std::min(m_threads, static_cast<int>(form.threads));
  int status = WB_OK;
  if (form.call > 1) {
    buffers.refill(order.seed ^ k_earlier_seed_change, order.draw, m_threads);
    make_earlier_calls(form, [&] {
      status = m_api.forward(plan.get(), &args);
      return status == WB_OK;
    });
    WB_TRY(checked(status));
  }
  // The poison reveals unwritten elements.
  buffers.put_out(order.out.bytes());
  const std::span<std::byte> lse = buffers.lse.bytes();
  if (order.lse) std::memcpy(lse.data(), order.lse->bytes().data(), lse_bytes);
  buffers.refill(order.seed, order.draw, m_threads);
  const auto begin = std::chrono::steady_clock::now();
  status = m_api.forward(plan.get(), &args);
  const double call_us = us_since(begin);
  buffers.take_out(order.out.bytes());
  if (order.lse) std::memcpy(order.lse->bytes().data(), lse.data(), lse_bytes);
  if (const char* overrun = buffers.overrun(); overrun != nullptr) return wrote_outside(overrun);
  WB_TRY(checked(status));
  return call_us;
}

Outcome<void> CpuSubject::set_stage(TurnOrder& order) {
  const bool is_kept = m_stage && m_stage->buffers.problem == order.problem &&
                       m_stage->placement == order.placement && m_stage->want_lse == order.want_lse;
  if (!is_kept) {
    WB_TRY_ASSIGN(auto plan, VariantPlan::create(m_api, order.problem, order.want_lse, k_no_gpu));
    // The old buffers live until the new ones are made, so that the addresses differ.
    m_stage = std::make_unique<Stage>(std::move(plan), order);
  }
  BufferSet& buffers = m_stage->buffers;
  if (!order.out.bytes().empty()) {
    buffers.out = std::move(order.out);
    buffers.lse = std::move(order.lse);
  }
  if (buffers.out.bytes().empty() || buffers.lse.bytes().empty() == m_stage->want_lse) {
    return runtime_failure("a turn without memory for its outputs");
  }
  const auto begin = std::chrono::steady_clock::now();
  buffers.refill(order.seed, order.draw, m_threads);
  m_stage->refill_us = us_since(begin);
  return {};
}

Outcome<TurnAnswer> CpuSubject::turn(TurnOrder order) {
  WB_TRY(set_stage(order));
  m_args_per_call = order.kind == measure::PlanKind::eager;
  if (!(order.settle_us > 0)) return TurnAnswer{0, true, m_stage->refill_us, can_flush()};
  int status = WB_OK;
  const wb_sdpa_args args = args_of(m_stage->buffers);
  wb_sdpa_plan* plan = m_stage->plan.get();
  const Settled settled = settle(
      [&](double block_us) {
        return time_calls_for([&] { return m_api.forward(plan, &args); }, block_us, status);
      },
      order.settle_us);
  WB_TRY(checked(status));
  return TurnAnswer{settled.call_us, settled.settled, m_stage->refill_us, can_flush()};
}

void CpuSubject::flush_stage() {
  const BufferSet& buffers = m_stage->buffers;
  if (can_flush()) {
    for (const auto* memory :
         {&buffers.q, &buffers.k, &buffers.v, &buffers.mask, &buffers.out, &buffers.lse}) {
      flush_from_caches(memory->bytes());
    }
    return;
  }
  if (m_sweep.bytes().empty()) m_sweep = GuardedMemory(k_sweep_bytes, Placing::flush_end);
  for (std::byte& line : m_sweep.bytes()) line ^= std::byte{1};
}

Outcome<void> CpuSubject::prime(const PrimeOrder& order) {
  if (order.seed) {
    m_stage->buffers.refill(*order.seed, order.draw, m_threads);
    if (!order.warm && !order.flush) m_stage->buffers.read_through(m_threads);
  }
  int status = WB_OK;
  if (order.warm) {
    const wb_sdpa_args args = args_of(m_stage->buffers);
    status = m_api.forward(m_stage->plan.get(), &args);
  }
  order.poison.fill(m_stage->buffers.out.bytes());
  order.lse_poison.fill(m_stage->buffers.lse.bytes());
  if (order.flush) flush_stage();
  return checked(status);
}

Outcome<std::int64_t> CpuSubject::go(const GoOrder& order, const std::function<void()>&) {
  int status = WB_OK;
  wb_sdpa_plan* plan = m_stage->plan.get();
  const auto begin = std::chrono::steady_clock::now();
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
  WB_TRY(checked(status));
  return block.count();
}

Outcome<std::vector<std::int64_t>> CpuSubject::show() {
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
