// SPDX-License-Identifier: MIT
// GpuInputs: makes a problem's tensors from a seed in device memory, with the same bits as
// make_inputs (problem/inputs.hpp), and poisons outputs. For the GPU judge, CUDA subjects and their
// refills; Python subjects get the launches (hand_over.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "problem/attention.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {

/// The words of device code (device/params.hpp) for those of a problem.
device::Number device_word(Dtype dtype);
device::MaskForm device_word(problem::MaskKind mask);
device::CausalRule device_word(problem::Causal causal);
device::Form device_word(problem::StdForm form);
device::Strides device_word(const problem::TensorStrides& strides);

/// q, k, v and mask in the problem's layout and dtype; mask empty without one.
struct DeviceInputs {
  DeviceBuffer q, k, v, mask;
};

inline constexpr const char* k_fill_kernel = "wb_fill_tensor";  ///< in DeviceCode::inputs

/// The launch of that kernel for one tensor.
struct FillLaunch {
  Grid grid;
  device::FillParams params;  ///< the caller sets the address `to`
};
/// Same values as fill_tensor. Nothing for a tensor without elements.
std::optional<FillLaunch> fill_launch(const problem::Problem& problem, std::uint32_t seed,
                                      problem::Tensor tensor, problem::Draw draw);
/// For storage with other strides.
std::optional<FillLaunch> fill_launch(const problem::Problem& problem, std::uint32_t seed,
                                      problem::Tensor tensor, problem::Draw draw,
                                      const problem::TensorStrides& strides);

class GpuInputs {
 public:
  /// Errors: environment (no device code, or none for this device).
  static CudaResult<GpuInputs> create(const ContextPtr& context);

  /// Queues the filling of one tensor (tensor_bytes(problem, tensor) at `to`), with the values of
  /// fill_tensor.
  CudaResult<void> fill(const Stream& stream, const problem::Problem& problem, std::uint32_t seed,
                        problem::Tensor tensor, problem::Draw draw, DeviceAddress to) const;
  CudaResult<void> fill(const Stream& stream, const problem::Problem& problem, std::uint32_t seed,
                        problem::Tensor tensor, problem::Draw draw,
                        const problem::TensorStrides& strides, DeviceAddress to) const;
  /// Queues the pattern of Poison::fill at an 8-byte aligned address.
  CudaResult<void> poison(const Stream& stream, const problem::Poison& poison, DeviceAddress to,
                          std::size_t size_bytes) const;
  /// Reserves all tensors and queues their filling. Errors: limit.
  CudaResult<DeviceInputs> make(const Stream& stream, const problem::Problem& problem,
                                std::uint32_t seed, problem::Draw draw) const;

 private:
  GpuInputs(Kernel fill, Kernel poison) : m_fill(std::move(fill)), m_poison(std::move(poison)) {}
  Kernel m_fill, m_poison;
};

/// Device memory for the tensors of make().
std::size_t device_inputs_bytes(const problem::Problem& problem);

}  // namespace wb::worker::cuda
