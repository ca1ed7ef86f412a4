// SPDX-License-Identifier: MIT
// GpuJudge: the verdict of problem/verdict.hpp with oracle and std computed on a GPU, so that the
// full output of large problems can be judged. For the judge's process, which never loads a
// variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "problem/verdict.hpp"
#include "worker/cuda/gpu_inputs.hpp"

namespace wb::worker::cuda {

/// An output in device memory of this process: out with out_bytes(problem) in the problem's dtype
/// and layout, lse f32 [B,Hq,Sq] or 0. Nothing may write to it while it is judged.
struct DeviceOutput {
  DeviceAddress out = 0, lse = 0;
};

class GpuJudge {
 public:
  /// Loads the kernels. Errors: environment (no device code, or none for this device).
  static CudaResult<GpuJudge> create(const ContextPtr& context);

  /// Like judge_output, with inputs made from the seed; `lse` may be empty. Uses no host threads.
  /// Samples blocks only above k_full_gpu_oracle_max_madds. The same arguments on the same device
  /// give the same verdict, bit for bit. Errors: limit (out of device memory; names the amount
  /// needed), environment.
  CudaResult<problem::OutputVerdict> judge(const problem::Problem& problem, std::uint32_t seed,
                                           problem::Draw draw, std::span<const std::byte> out,
                                           std::span<const float> lse,
                                           const problem::JudgeOptions& options) const;
  CudaResult<problem::OutputVerdict> judge(const problem::Problem& problem, std::uint32_t seed,
                                           problem::Draw draw, const DeviceOutput& output,
                                           const problem::JudgeOptions& options) const;

  [[nodiscard]] const Stream& stream() const { return m_stream; }
  [[nodiscard]] const GpuInputs& inputs() const { return m_inputs; }

 private:
  friend class Judgement;
  struct Kernels {
    Kernel oracle_scores, oracle_weights, oracle_values;
    Kernel std_scores, std_weights, std_values;
    Kernel block_errors, scan_output;
  };
  static CudaResult<Kernels> load_kernels(const ContextPtr& context);
  GpuJudge(Stream stream, GpuInputs inputs, Kernels kernels)
      : m_stream(std::move(stream)), m_inputs(std::move(inputs)), m_kernels(std::move(kernels)) {}

  Stream m_stream;
  GpuInputs m_inputs;
  Kernels m_kernels;
};

}  // namespace wb::worker::cuda
