// SPDX-License-Identifier: MIT
// Conversions of stored elements, exactly as on the host (core/dtype.hpp), for all kernels of the
// judge.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "worker/cuda/device/params.hpp"

namespace wb::worker::cuda::device {

/// Element `index` of a tensor. Exact: every f16 and bf16 is an f32.
__device__ inline float load(Number number, const void* from, std::int64_t index) {
  switch (number) {
    case Number::f32:
      return static_cast<const float*>(from)[index];
    case Number::f16:
      return __half2float(static_cast<const __half*>(from)[index]);
    case Number::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[index]);
  }
  return __int_as_float(0x7fc00000);  // NaN fails every comparison
}

/// Rounds to nearest even.
__device__ inline void store(Number number, void* to, std::int64_t index, float value) {
  switch (number) {
    case Number::f32:
      static_cast<float*>(to)[index] = value;
      return;
    case Number::f16:
      static_cast<__half*>(to)[index] = __float2half_rn(value);
      return;
    case Number::bf16:
      static_cast<__nv_bfloat16*>(to)[index] = __float2bfloat16_rn(value);
      return;
  }
}

/// `value` rounded as an element stores it.
__device__ inline float rounded(Number number, float value) {
  switch (number) {
    case Number::f32:
      return value;
    case Number::f16:
      return __half2float(__float2half_rn(value));
    case Number::bf16:
      return __bfloat162float(__float2bfloat16_rn(value));
  }
  return __int_as_float(0x7fc00000);
}

/// Eight bytes of the poison's pattern, with index `index`: splitmix64 with exponent bits set, as
/// on the host (problem/poison.cpp).
__device__ inline std::uint64_t poison_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) | 0x6000600060006000u;
}

template <typename T>
__device__ constexpr T minus_infinity() {
  return -static_cast<T>(__builtin_huge_valf());
}

/// The number of keys that query row `row` sees under the causal rule alone: [0, count).
__device__ inline std::int64_t visible_keys(const Wave& w, std::int64_t row) {
  std::int64_t count = w.Skv;
  if (w.causal == CausalRule::top_left) count = row + 1;
  if (w.causal == CausalRule::bottom_right) count = row + 1 + w.Skv - w.Sq;
  return count < 0 ? 0 : (count > w.Skv ? w.Skv : count);
}

/// The bias added to the scaled score: 0 or -inf from a bool mask, the value of an additive one.
__device__ inline float bias(const Wave& w, std::int64_t b, std::int64_t row, std::int64_t key) {
  const std::int64_t at = (b * w.Sq + row) * w.Skv + key;
  if (w.mask_form == MaskForm::additive) return load(w.number, w.mask, at);
  if (w.mask_form == MaskForm::none) return 0.0f;
  return static_cast<const std::uint8_t*>(w.mask)[at] != 0 ? 0.0f : minus_infinity<float>();
}

}  // namespace wb::worker::cuda::device
