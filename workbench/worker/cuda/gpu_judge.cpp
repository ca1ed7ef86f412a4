// SPDX-License-Identifier: MIT
#include "worker/cuda/gpu_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "problem/decision.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/judge_plan.hpp"
#include "worker/cuda/judgement.hpp"

namespace wb::worker::cuda {

using problem::Problem;

namespace {

/// Refuses before anything is reserved, so that the message can say how much would be needed.
CudaResult<void> check_memory(const Context& context, const Problem& problem,
                              std::size_t needed_bytes) {
  WB_TRY_ASSIGN(const DeviceMemory memory, context.memory());
  if (needed_bytes <= memory.free_bytes) return {};
  return Fault{
      {ErrorCode::limit, "judge", problem::label(problem),
       fmt::format("out of device memory: it needs {:.2f} GB, {} has {:.2f} GB free of {:.2f}",
                   static_cast<double>(needed_bytes) * 1e-9, context.name(),
                   static_cast<double>(memory.free_bytes) * 1e-9,
                   static_cast<double>(memory.total_bytes) * 1e-9),
       "choose a smaller problem, or free the device's memory"},
      Status::out_of_memory};
}

/// Loads one of the embedded images; messages name its content.
CudaResult<std::shared_ptr<const Module>> load_image(const ContextPtr& context,
                                                     std::span<const std::byte> image,
                                                     std::string_view name,
                                                     std::string_view about) {
  return Module::load(context, image, fmt::format("the device code of {} ({})", name, about));
}

std::size_t lse_elements(const Problem& problem) {
  return static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq);
}

}  // namespace

CudaResult<GpuJudge> GpuJudge::create(const ContextPtr& context) {
  WB_TRY_ASSIGN(Stream stream, Stream::create(context));
  WB_TRY_ASSIGN(GpuInputs inputs, GpuInputs::create(context));
  WB_TRY_ASSIGN(Kernels kernels, load_kernels(context));
  return GpuJudge(std::move(stream), std::move(inputs), std::move(kernels));
}

CudaResult<GpuJudge::Kernels> GpuJudge::load_kernels(const ContextPtr& context) {
  WB_TRY_ASSIGN(const DeviceCode code, device_code());
  WB_TRY_ASSIGN(const auto oracle, load_image(context, code.oracle, "the oracle", code.about));
  WB_TRY_ASSIGN(const auto standard, load_image(context, code.standard, "std", code.about));
  WB_TRY_ASSIGN(const auto errors, load_image(context, code.errors, "the judge", code.about));
  WB_TRY_ASSIGN(Kernel oracle_scores, oracle->kernel("wb_oracle_scores"));
  WB_TRY_ASSIGN(Kernel oracle_weights, oracle->kernel("wb_oracle_weights"));
  WB_TRY_ASSIGN(Kernel oracle_values, oracle->kernel("wb_oracle_values"));
  WB_TRY_ASSIGN(Kernel std_scores, standard->kernel("wb_std_scores"));
  WB_TRY_ASSIGN(Kernel std_weights, standard->kernel("wb_std_weights"));
  WB_TRY_ASSIGN(Kernel std_values, standard->kernel("wb_std_values"));
  WB_TRY_ASSIGN(Kernel block_errors, errors->kernel("wb_block_errors"));
  WB_TRY_ASSIGN(Kernel scan_output, errors->kernel("wb_scan_output"));
  return Kernels{std::move(oracle_scores), std::move(oracle_weights), std::move(oracle_values),
                 std::move(std_scores),    std::move(std_weights),    std::move(std_values),
                 std::move(block_errors),  std::move(scan_output)};
}

CudaResult<problem::OutputVerdict> GpuJudge::judge(const Problem& problem, std::uint32_t seed,
                                                   problem::Draw draw,
                                                   std::span<const std::byte> out,
                                                   std::span<const float> lse,
                                                   const problem::JudgeOptions& options) const {
  if (out.size() != problem::out_bytes(problem) ||
      (!lse.empty() && lse.size() != lse_elements(problem))) {
    throw std::logic_error("GpuJudge: out or lse has another size than the problem says");
  }
  const std::vector<problem::RowBlock> blocks = gpu_blocks(problem, options);
  WB_TRY(check_memory(*m_stream.context(), problem,
                      judge_device_bytes(problem, blocks.size(), /*out_from_host=*/true)));
  WB_TRY_ASSIGN(const DeviceBuffer copy, DeviceBuffer::allocate(m_stream.context(), out.size()));
  WB_TRY(copy_to_device(m_stream, copy.address(), out));
  const std::span<const float> judged_lse = options.judge_lse ? lse : std::span<const float>();
  return Judgement(*this, problem, options).run(seed, draw, copy.address(), judged_lse, blocks);
}

CudaResult<problem::OutputVerdict> GpuJudge::judge(const Problem& problem, std::uint32_t seed,
                                                   problem::Draw draw, const DeviceOutput& output,
                                                   const problem::JudgeOptions& options) const {
  const std::vector<problem::RowBlock> blocks = gpu_blocks(problem, options);
  WB_TRY(check_memory(*m_stream.context(), problem,
                      judge_device_bytes(problem, blocks.size(), /*out_from_host=*/false)));
  std::vector<float> lse;
  if (output.lse != 0 && options.judge_lse) {
    lse.resize(lse_elements(problem));
    WB_TRY(copy_to_host(m_stream, std::as_writable_bytes(std::span(lse)), output.lse));
  }
  return Judgement(*this, problem, options).run(seed, draw, output.out, lse, blocks);
}

}  // namespace wb::worker::cuda
