// SPDX-License-Identifier: MIT
// CudaSubject: a compiled variant on a GPU, the counterpart of subject.cpp. Subject process only.
#pragma once

#include <memory>

#include "worker/cuda/buffer_set.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/cuda/stopwatch.hpp"
#include "worker/settling.hpp"
#include "worker/subject_loop.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker::cuda {

class CudaSubject final : public SubjectBody {
 public:
  /// Creates the context of GPU `ordinal`, so that it is ready for the variant. Errors:
  /// environment.
  static CudaResult<std::unique_ptr<CudaSubject>> create(int ordinal);
  ~CudaSubject() override;

  Outcome<void> load(const LoadOrder& order) override;
  Outcome<double> run(const RunOrder& order) override;
  Outcome<TurnAnswer> turn(TurnOrder order) override;
  Outcome<void> prime(const PrimeOrder& order) override;
  Outcome<std::int64_t> go(const GoOrder& order, const std::function<void()>& started) override;
  Outcome<std::vector<std::int64_t>> show() override;
  Outcome<void> copy_out() override;

 private:
  struct Stage;
  CudaSubject(int ordinal, Stream stream, GpuInputs inputs, Stopwatch stopwatch);
  /// Makes and calls the plan that the order has beside the judged one.
  Outcome<std::optional<VariantPlan>> plan_beside(const RunOrder& order);
  CudaResult<const char*> call_beside(const VariantPlan& plan, const problem::Problem& problem,
                                      std::uint32_t seed);
  Outcome<void> set_stage(TurnOrder& order);
  /// Maps the memory that the judge lends.
  CudaResult<SharedBuffer> borrow(const LentMemory::Part& part) const;
  CudaResult<BorrowedOutputs> borrow(const LentMemory& lent) const;
  /// Queues the copy for the judge; work that the stream has not done by then is missing in it.
  CudaResult<void> snap() const;
  CudaResult<void> queue_copy(DeviceAddress to, DeviceAddress from, std::size_t size_bytes) const;
  /// Queues one call on the stream; a status other than WB_OK is kept in m_status.
  CudaResult<void> call(wb_sdpa_plan* plan, const wb_sdpa_args& args);
  CudaResult<void> call_on_stage();
  /// Waits for the whole device, since the variant may use its own streams.
  CudaResult<void> finish() const;
  CudaResult<const Graph*> graph_of(std::int64_t calls);
  CudaResult<Samples> sample(std::int64_t calls, std::int64_t samples, const BlockHooks& hooks);
  /// Provides this many input buffers for a chain.
  CudaResult<void> provide_links(std::size_t count);
  CudaResult<Samples> sample(const ChainOrder& order, const BlockHooks& hooks);
  CudaResult<double> first_calls();
  CudaResult<Settled> settle_stage(double settle_us);
  Outcome<void> checked(const CudaResult<void>& done) const;
  Failure failure(const Fault& fault) const;

  int m_ordinal;
  Stream m_stream;
  GpuInputs m_inputs;
  Stopwatch m_stopwatch;
  VariantApi m_api;
  int m_status = 0;
  std::unique_ptr<Stage> m_stage;
  std::vector<std::int64_t> m_sample_ns;  // of the last block
};

}  // namespace wb::worker::cuda
