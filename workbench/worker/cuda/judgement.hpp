// SPDX-License-Identifier: MIT
// Judgement: one running verdict of a GpuJudge: inputs, counts, then waves of blocks, whose
// statistics are copied back for the decision. Used by gpu_judge.cpp only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/decision.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/gpu_judge.hpp"
#include "worker/cuda/judge_plan.hpp"

namespace wb::worker::cuda {

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
