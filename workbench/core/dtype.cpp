// SPDX-License-Identifier: MIT
#include "core/dtype.hpp"

#include <stdexcept>

namespace wb {

std::string_view to_string(Dtype value) {
  switch (value) {
    case Dtype::f32:
      return "f32";
    case Dtype::f16:
      return "f16";
    case Dtype::bf16:
      return "bf16";
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

std::optional<Dtype> parse_dtype(std::string_view word) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    if (word == to_string(dtype)) return dtype;
  }
  return std::nullopt;
}

std::int64_t size_bytes(Dtype dtype) {
  return dtype == Dtype::f32 ? 4 : 2;
}

std::uint16_t f16_bits_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN: keep the top of its payload, make it quiet, as F16C does
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x47800000u) {  // at least 2^16, or infinity
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  }
  // `kept` holds the result with its last place at bit `shift`; lower bits are rounded to nearest,
  // ties to even. A carry into the exponent is correct: 65520 becomes infinity, and the largest
  // subnormal becomes the smallest normal number.
  std::uint32_t kept = 0;
  std::uint32_t shift = 13;
  if (magnitude >= 0x38800000u) {  // a normal f16: move the exponent bias from 127 to 15
    kept = magnitude - 0x38000000u;
  } else {  // subnormal or zero: the mantissa with its hidden bit, in units of 2^-24
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;  // below 2^-25 everything rounds to zero
    kept = (magnitude & 0x7fffffu) | 0x800000u;
    shift = 126 - exponent;
  }
  const std::uint32_t half_unit = (1u << (shift - 1)) - 1u + ((kept >> shift) & 1u);
  return static_cast<std::uint16_t>(sign | ((kept + half_unit) >> shift));
}

float float_from_f16_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1fu) {
    if (mantissa != 0) mantissa |= 0x200u;  // quiet
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  }
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

}  // namespace wb
