// SPDX-License-Identifier: MIT
#include "worker/cuda/gpu_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "problem/philox.hpp"
#include "worker/cuda/device_code.hpp"

namespace wb::worker::cuda {

using problem::Draw;
using problem::Problem;
using problem::Tensor;

namespace {

constexpr std::int64_t k_max_fill_blocks = 1 << 16;  // threads stride over the rest

}  // namespace

device::Number device_word(Dtype dtype) {
  static_assert(static_cast<int>(Dtype::f16) == static_cast<int>(device::Number::f16));
  static_assert(static_cast<int>(Dtype::bf16) == static_cast<int>(device::Number::bf16));
  return static_cast<device::Number>(dtype);
}

device::MaskForm device_word(problem::MaskKind mask) {
  static_assert(static_cast<int>(problem::MaskKind::boolean) ==
                static_cast<int>(device::MaskForm::boolean));
  static_assert(static_cast<int>(problem::MaskKind::additive) ==
                static_cast<int>(device::MaskForm::additive));
  return static_cast<device::MaskForm>(mask);
}

device::CausalRule device_word(problem::Causal causal) {
  static_assert(static_cast<int>(problem::Causal::top_left) ==
                static_cast<int>(device::CausalRule::top_left));
  static_assert(static_cast<int>(problem::Causal::bottom_right) ==
                static_cast<int>(device::CausalRule::bottom_right));
  return static_cast<device::CausalRule>(causal);
}

device::Form device_word(problem::StdForm form) {
  static_assert(static_cast<int>(problem::StdForm::short_blocks) ==
                static_cast<int>(device::Form::short_blocks));
  static_assert(static_cast<int>(problem::StdForm::normalized) ==
                static_cast<int>(device::Form::normalized));
  return static_cast<device::Form>(form);
}

device::Strides device_word(const problem::TensorStrides& strides) {
  return {strides.batch, strides.head, strides.row};
}

CudaResult<GpuInputs> GpuInputs::create(const ContextPtr& context) {
  WB_TRY_ASSIGN(const DeviceCode code, device_code());
  WB_TRY_ASSIGN(const auto module,
                Module::load(context, code.inputs,
                             fmt::format("the device code of inputs ({})", code.about)));
  WB_TRY_ASSIGN(Kernel fill, module->kernel(k_fill_kernel));
  WB_TRY_ASSIGN(Kernel poison, module->kernel("wb_fill_poison"));
  return GpuInputs(std::move(fill), std::move(poison));
}

CudaResult<void> GpuInputs::poison(const Stream& stream, const problem::Poison& poison,
                                   DeviceAddress to, std::size_t size_bytes) const {
  if (size_bytes == 0) return {};
  device::PoisonParams p{};
  p.to = reinterpret_cast<std::uint8_t*>(to);  // NOLINT(performance-no-int-to-ptr)
  p.bytes = static_cast<std::int64_t>(size_bytes);
  p.seed = poison.seed;
  const std::int64_t words = (p.bytes + 7) / 8;
  const std::int64_t blocks = (words + device::k_scan_threads - 1) / device::k_scan_threads;
  return m_poison.launch(
      stream, {.x = std::min(blocks, k_max_fill_blocks), .threads = device::k_scan_threads}, p);
}

std::optional<FillLaunch> fill_launch(const Problem& problem, std::uint32_t seed, Tensor tensor,
                                      Draw draw) {
  return fill_launch(problem, seed, tensor, draw, problem::tensor_strides(problem, tensor));
}

std::optional<FillLaunch> fill_launch(const Problem& problem, std::uint32_t seed, Tensor tensor,
                                      Draw draw, const problem::TensorStrides& strides) {
  const problem::TensorShape shape = problem::tensor_shape(problem, tensor);
  const bool is_mask = tensor == Tensor::mask;
  device::FillParams p{};
  p.heads = shape.heads;
  p.rows = shape.rows;
  p.width = shape.width;
  p.elements = problem::element_count(problem, tensor);
  if (p.elements == 0) return std::nullopt;
  p.strides = device_word(strides);
  const bool is_bool = problem.mask == problem::MaskKind::boolean;
  p.keep_below =
      problem::keep_threshold(is_bool ? problem.keep_frac : problem::k_additive_keep_frac);
  p.edge_row = is_mask && draw == Draw::edge ? static_cast<std::int64_t>(seed) % problem.Sq : -1;
  p.seed = seed;
  p.tensor = static_cast<std::uint32_t>(tensor);
  p.factor = problem::draw_factor(tensor, draw);
  p.sign = problem::draw_sign(tensor, draw);
  p.rejected = problem::rejected_value(problem);
  p.number = device_word(problem.dtype);
  p.mask = is_mask ? device_word(problem.mask) : device::MaskForm::none;
  const std::int64_t counters = (p.elements + 1) / 2;
  const std::int64_t blocks = (counters + device::k_scan_threads - 1) / device::k_scan_threads;
  return FillLaunch{
      .grid = {.x = std::min(blocks, k_max_fill_blocks), .threads = device::k_scan_threads},
      .params = p};
}

CudaResult<void> GpuInputs::fill(const Stream& stream, const Problem& problem, std::uint32_t seed,
                                 Tensor tensor, Draw draw, DeviceAddress to) const {
  return fill(stream, problem, seed, tensor, draw, problem::tensor_strides(problem, tensor), to);
}

CudaResult<void> GpuInputs::fill(const Stream& stream, const Problem& problem, std::uint32_t seed,
                                 Tensor tensor, Draw draw, const problem::TensorStrides& strides,
                                 DeviceAddress to) const {
  std::optional<FillLaunch> launch = fill_launch(problem, seed, tensor, draw, strides);
  if (!launch) return {};
  launch->params.to = reinterpret_cast<void*>(to);  // NOLINT(performance-no-int-to-ptr)
  return m_fill.launch(stream, launch->grid, launch->params);
}

CudaResult<DeviceInputs> GpuInputs::make(const Stream& stream, const Problem& problem,
                                         std::uint32_t seed, Draw draw) const {
  DeviceInputs inputs;
  for (const auto& [tensor, buffer] :
       {std::pair{Tensor::q, &inputs.q}, std::pair{Tensor::k, &inputs.k},
        std::pair{Tensor::v, &inputs.v}, std::pair{Tensor::mask, &inputs.mask}}) {
    WB_TRY_ASSIGN(*buffer,
                  DeviceBuffer::allocate(stream.context(), problem::tensor_bytes(problem, tensor)));
    WB_TRY(fill(stream, problem, seed, tensor, draw, buffer->address()));
  }
  return inputs;
}

std::size_t device_inputs_bytes(const Problem& problem) {
  std::size_t bytes = 0;
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    bytes += problem::tensor_bytes(problem, tensor);
  }
  return bytes;
}

}  // namespace wb::worker::cuda
