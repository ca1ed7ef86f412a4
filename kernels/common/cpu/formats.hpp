// SPDX-License-Identifier: MIT
// Storage formats of CPU kernels: rows of f32, f16 and bf16 to f32 and back.
#pragma once

#include <cstdint>
#include <cstring>

#include "arithmetic.hpp"
#include "sdpa_abi.h"

namespace wb_cpu {

#if defined(__F16C__)
/// Eight f16 as the conversion instructions take them.
typedef short Halves __attribute__((vector_size(16)));
#endif

inline float f32_from_bf16(std::uint16_t bits) {
  return float_of_bits(static_cast<std::uint32_t>(bits) << 16);
}
inline std::uint16_t bf16_from_f32(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;  // to nearest even
  return static_cast<std::uint16_t>(value != value ? (bits >> 16) | 0x40u : rounded);
}

inline float f32_from_f16(std::uint16_t bits) {
#if defined(__F16C__)
  return __builtin_ia32_vcvtph2ps(Halves{static_cast<short>(bits)})[0];
#else
  // Exponent and mantissa moved into place, then the bias corrected by an exact multiplication,
  // which also normalises subnormals.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  const float scaled = float_of_bits(magnitude) * float_of_bits(0x77800000u);  // 2^112
  std::uint32_t result = bit_cast<std::uint32_t>(scaled);
  if ((bits & 0x7c00u) == 0x7c00u) result |= 0x7f800000u;  // infinity and NaN
  return float_of_bits(result | static_cast<std::uint32_t>(bits & 0x8000u) << 16);
#endif
}
inline std::uint16_t f16_from_f32(float value) {
#if defined(__F16C__)
  typedef float Quad __attribute__((vector_size(16)));
  constexpr int k_to_nearest_even = 0;
  return static_cast<std::uint16_t>(__builtin_ia32_vcvtps2ph(Quad{value}, k_to_nearest_even)[0]);
#else
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;  // NaN
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;  // rounds to infinity
  } else if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 leaves the rounded mantissa in the low bits.
    half = bit_cast<std::uint32_t>(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
#endif
}

/// to[0..count) = base[offset..offset+count) as f32, times `factor`.
inline void load_row(const void* base, std::int64_t offset, std::int64_t count, std::int32_t dtype,
                     float factor, float* __restrict to) {
  if (dtype == WB_F32) {
    const float* from = static_cast<const float*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = from[d] * factor;
    return;
  }
  const std::uint16_t* from = static_cast<const std::uint16_t*>(base) + offset;
  if (dtype == WB_BF16) {
    for (std::int64_t d = 0; d < count; ++d) to[d] = f32_from_bf16(from[d]) * factor;
    return;
  }
  std::int64_t d = 0;
#if defined(__F16C__)
  for (; d + 8 <= count; d += 8) {  // the compilers do not vectorise the conversion by themselves
    Halves halves;
    std::memcpy(&halves, from + d, sizeof halves);
    const auto floats = __builtin_ia32_vcvtph2ps256(halves) * factor;
    std::memcpy(to + d, &floats, sizeof floats);
  }
#endif
  for (; d < count; ++d) to[d] = f32_from_f16(from[d]) * factor;
}

/// base[offset..offset+count) = from[0..count) * factor, rounded to the dtype.
inline void store_row(void* base, std::int64_t offset, std::int64_t count, std::int32_t dtype,
                      float factor, const float* __restrict from) {
  if (dtype == WB_F32) {
    float* to = static_cast<float*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = from[d] * factor;
  } else if (dtype == WB_BF16) {
    std::uint16_t* to = static_cast<std::uint16_t*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = bf16_from_f32(from[d] * factor);
  } else {
    std::uint16_t* to = static_cast<std::uint16_t*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = f16_from_f32(from[d] * factor);
  }
}

}  // namespace wb_cpu
