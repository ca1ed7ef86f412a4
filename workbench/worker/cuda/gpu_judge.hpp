// SPDX-License-Identifier: MIT
// GpuJudge: the verdict of problem/verdict.hpp with oracle and std computed on a GPU, so that the
// full output of large problems can be judged. For the judge's process, which never loads a
// variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "problem/decision.hpp"
#include "problem/verdict.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/cuda/judge_plan.hpp"

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

/// One running verdict of a GpuJudge: inputs, counts, then waves of blocks, whose statistics are
/// copied back for the decision. Private to gpu_judge.cpp.
class Judgement {
 public:
  Judgement(const GpuJudge& judge, const problem::Problem& problem,
            const problem::JudgeOptions& options)
      : m_judge(judge), m_problem(problem), m_options(options) {}

  /// `lse` is empty when it is not judged. `out` is in device memory.
  CudaResult<problem::OutputVerdict> run(std::uint32_t seed, problem::Draw draw, DeviceAddress out,
                                         std::span<const float> lse,
                                         const std::vector<problem::RowBlock>& blocks);

 private:
  /// Device memory of the waves, and the struct that describes it to kernels.
  struct Room {
    WaveRoom sizes;
    DeviceBuffer scores, rescale, ref, row_figures, std_out, std_sum, errors, tasks;
    device::Wave wave{};
  };
  /// The results of one wave. Rows of block i begin at i * rows_per_block.
  struct WaveResult {
    std::vector<device::ErrorSums> out;                  ///< [blocks]
    std::vector<std::vector<device::ErrorSums>> of_std;  ///< [forms][blocks]
    std::vector<double> lse, norm;                       ///< [blocks * rows_per_block]
  };

  CudaResult<problem::OutputScan> scan(DeviceAddress out, std::span<const float> lse) const;
  CudaResult<Room> make_room(const DeviceInputs& inputs, DeviceAddress out,
                             std::size_t block_count) const;
  CudaResult<WaveResult> compute(Room& room, std::span<const problem::RowBlock> blocks,
                                 std::span<const problem::StdForm> forms) const;
  CudaResult<std::vector<device::ErrorSums>> compute_form(const Room& room, device::Form form,
                                                          std::int64_t blocks,
                                                          std::int64_t key_tiles) const;
  [[nodiscard]] problem::BudgetUse decide(const problem::RowBlock& block, problem::Draw draw,
                                          const WaveResult& result, std::size_t at,
                                          std::span<const float> lse) const;

  const GpuJudge& m_judge;
  const problem::Problem& m_problem;
  const problem::JudgeOptions& m_options;
};

}  // namespace wb::worker::cuda
