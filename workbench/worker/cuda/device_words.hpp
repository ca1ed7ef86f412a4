// SPDX-License-Identifier: MIT
// Converts the problem's enums to those of device code (device/params.hpp), for host code that
// fills kernel parameters.
#pragma once

#include "problem/attention.hpp"
#include "problem/inputs.hpp"
#include "worker/cuda/device/params.hpp"

namespace wb::worker::cuda {

inline device::Number device_word(Dtype dtype) {
  static_assert(static_cast<int>(Dtype::f16) == static_cast<int>(device::Number::f16));
  static_assert(static_cast<int>(Dtype::bf16) == static_cast<int>(device::Number::bf16));
  return static_cast<device::Number>(dtype);
}

inline device::MaskForm device_word(problem::MaskKind mask) {
  static_assert(static_cast<int>(problem::MaskKind::boolean) ==
                static_cast<int>(device::MaskForm::boolean));
  static_assert(static_cast<int>(problem::MaskKind::additive) ==
                static_cast<int>(device::MaskForm::additive));
  return static_cast<device::MaskForm>(mask);
}

inline device::CausalRule device_word(problem::Causal causal) {
  static_assert(static_cast<int>(problem::Causal::top_left) ==
                static_cast<int>(device::CausalRule::top_left));
  static_assert(static_cast<int>(problem::Causal::bottom_right) ==
                static_cast<int>(device::CausalRule::bottom_right));
  return static_cast<device::CausalRule>(causal);
}

inline device::Form device_word(problem::StdForm form) {
  static_assert(static_cast<int>(problem::StdForm::short_blocks) ==
                static_cast<int>(device::Form::short_blocks));
  static_assert(static_cast<int>(problem::StdForm::normalized) ==
                static_cast<int>(device::Form::normalized));
  return static_cast<device::Form>(form);
}

inline device::Strides device_word(const problem::TensorStrides& strides) {
  return {strides.batch, strides.head, strides.row};
}

}  // namespace wb::worker::cuda
