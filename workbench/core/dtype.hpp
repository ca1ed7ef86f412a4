// SPDX-License-Identifier: MIT
// Dtype: the formats in which tensor elements are stored. It is in core because problems, devices
// (peaks per format) and manifests name it. The words are frozen in logs, manifests and scripts.
// Also the 16-bit formats themselves, f16 (IEEE binary16) and bf16, converted to and from float
// with round to nearest even. F16C is used where the compiler target has it; results are the same
// without.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace wb {

enum class Dtype { f32, f16, bf16 };

std::string_view to_string(Dtype value);
std::optional<Dtype> parse_dtype(std::string_view word);
/// Bytes of one element.
std::int64_t size_bytes(Dtype dtype);

struct F16 {
  std::uint16_t bits = 0;
};
struct Bf16 {
  std::uint16_t bits = 0;
};

/// Portable conversions (dtype.cpp). NaN stays NaN (quiet), overflow becomes infinity.
std::uint16_t f16_bits_from_float(float value);
float float_from_f16_bits(std::uint16_t bits);

inline F16 to_f16(float value) {
#if defined(__F16C__)
  // Not _cvtss_sh: in clang that is a macro which -Wpedantic refuses.
  const __m128i packed = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT);
  return F16{static_cast<std::uint16_t>(_mm_cvtsi128_si32(packed))};
#else
  return F16{f16_bits_from_float(value)};
#endif
}

inline float to_float(F16 value) {
#if defined(__F16C__)
  return _cvtsh_ss(value.bits);
#else
  return float_from_f16_bits(value.bits);
#endif
}

inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return Bf16{static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};  // keep NaN a NaN
  }
  return Bf16{static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

inline float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

}  // namespace wb
