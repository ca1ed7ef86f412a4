// SPDX-License-Identifier: MIT
// CudaSubject: a compiled variant on a GPU, as subject.cpp has it on the CPU. Subject process only.
#pragma once

#include <memory>

#include "worker/cuda/gpu_inputs.hpp"
#include "worker/cuda/stopwatch.hpp"
#include "worker/settling.hpp"
#include "worker/subject_loop.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker::cuda {

class CudaSubject final : public SubjectBody {
 public:
  /// Starts the context of GPU `ordinal`, so that a variant finds it ready. Errors: environment.
  static CudaResult<std::unique_ptr<CudaSubject>> create(int ordinal);
  ~CudaSubject() override;

  Outcome<void> load(const LoadOrder& order) override;
  Outcome<double> run(const RunOrder& order) override;
  Outcome<TurnAnswer> turn(TurnOrder order) override;
  Outcome<void> prime(const PrimeOrder& order) override;
  Outcome<std::int64_t> go(const GoOrder& order, const std::function<void()>& started) override;
  Outcome<std::vector<std::int64_t>> show() override;

 private:
  struct Stage;
  CudaSubject(int ordinal, Stream stream, GpuInputs inputs, Stopwatch stopwatch);
  Outcome<void> set_stage(const TurnOrder& order);
  /// Puts one call on the stream; what the variant said instead of WB_OK is in m_status.
  CudaResult<void> call(wb_sdpa_plan* plan, const wb_sdpa_args& args);
  CudaResult<void> call_on_stage();
  /// Waits for the whole device: work on streams of the variant's own counts too.
  CudaResult<void> finish() const;
  CudaResult<const Graph*> graph_of(std::int64_t calls);
  CudaResult<Samples> sample(std::int64_t calls, std::int64_t samples, const OnStart& on_start);
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
