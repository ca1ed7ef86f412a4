// SPDX-License-Identifier: MIT

#include <cmath>
#include <limits>
#include <random>

#include "core/dtype.hpp"
#include "support/catch.hpp"

using wb::Bf16;
using wb::F16;

namespace {

constexpr std::uint32_t k_patterns = 0x10000;

/// The definition of binary16, without bit tricks.
double defined_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double defined_bf16(std::uint16_t bits) {
  const int exponent = (bits >> 7) & 255;
  const int mantissa = bits & 127;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 255) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -133);
  return sign * std::ldexp(128 + mantissa, exponent - 134);
}

bool is_nan16(std::uint16_t bits, std::uint16_t infinity) {
  return (bits & 0x7fff) > infinity;
}

/// Both neighbors of each finite value: the point midway goes to the even one, and one float step
/// to either side goes to the nearer one. `limit` is the pattern of infinity.
template <typename Decode, typename Encode>
int rounding_faults(std::uint16_t limit, Decode decode, Encode encode) {
  int faults = 0;
  for (std::uint32_t low = 0; low + 1 < limit; ++low) {
    const auto low_bits = static_cast<std::uint16_t>(low);
    const auto high_bits = static_cast<std::uint16_t>(low + 1);
    const auto midway = static_cast<float>((decode(low_bits) + decode(high_bits)) / 2);
    const std::uint16_t even = low % 2 == 0 ? low_bits : high_bits;
    for (const float sign : {1.0f, -1.0f}) {
      const std::uint16_t sign_bit = sign < 0 ? 0x8000 : 0;
      const auto expect = [&](float value, std::uint16_t bits) {
        if (encode(sign * value) != (bits | sign_bit)) ++faults;
      };
      expect(midway, even);
      expect(std::nextafter(midway, 0.0f), low_bits);
      expect(std::nextafter(midway, std::numeric_limits<float>::infinity()), high_bits);
    }
  }
  return faults;
}

}  // namespace

TEST_CASE("every f16 pattern decodes to its defined value", "[core][half]") {
  int faults = 0;
  for (std::uint32_t i = 0; i < k_patterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double wanted = defined_f16(bits);
    for (const float got : {wb::float_from_f16_bits(bits), wb::to_float(F16{bits})}) {
      const bool same = std::isnan(wanted) ? std::isnan(got)
                                           : static_cast<double>(got) == wanted &&
                                                 std::signbit(got) == std::signbit(wanted);
      if (!same) ++faults;
    }
  }
  CHECK(faults == 0);
}

TEST_CASE("every f16 pattern survives a round trip", "[core][half]") {
  int faults = 0;
  for (std::uint32_t i = 0; i < k_patterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const bool is_nan = is_nan16(bits, 0x7c00);
    const auto wanted = static_cast<std::uint16_t>(is_nan ? bits | 0x0200 : bits);
    if (wb::f16_bits_from_float(wb::float_from_f16_bits(bits)) != wanted) ++faults;
    if (wb::to_f16(wb::to_float(F16{bits})).bits != wanted) ++faults;
  }
  CHECK(faults == 0);
}

TEST_CASE("every bf16 pattern decodes to its defined value and back", "[core][half]") {
  int faults = 0;
  for (std::uint32_t i = 0; i < k_patterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double wanted = defined_bf16(bits);
    const float got = wb::to_float(Bf16{bits});
    if (is_nan16(bits, 0x7f80)) {
      if (!std::isnan(got) || wb::to_bf16(got).bits != (bits | 0x0040)) ++faults;
    } else if (static_cast<double>(got) != wanted || wb::to_bf16(got).bits != bits) {
      ++faults;
    }
  }
  CHECK(faults == 0);
}

TEST_CASE("values between two neighbors round to nearest, ties to even", "[core][half]") {
  CHECK(rounding_faults(0x7c00, defined_f16, wb::f16_bits_from_float) == 0);
  CHECK(rounding_faults(0x7c00, defined_f16, [](float value) { return wb::to_f16(value).bits; }) ==
        0);
  CHECK(rounding_faults(0x7f80, defined_bf16,
                        [](float value) { return wb::to_bf16(value).bits; }) == 0);
}

TEST_CASE("f16 overflows at 65520 and underflows at 2^-25", "[core][half]") {
  CHECK(wb::f16_bits_from_float(65504.0f) == 0x7bff);
  CHECK(wb::f16_bits_from_float(std::nextafter(65520.0f, 0.0f)) == 0x7bff);
  CHECK(wb::f16_bits_from_float(65520.0f) == 0x7c00);
  CHECK(wb::f16_bits_from_float(65536.0f) == 0x7c00);
  CHECK(wb::f16_bits_from_float(-3e38f) == 0xfc00);
  CHECK(wb::f16_bits_from_float(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(wb::f16_bits_from_float(0x1p-25f) == 0x0000);
  CHECK(wb::f16_bits_from_float(std::nextafter(0x1p-25f, 1.0f)) == 0x0001);
  CHECK(wb::f16_bits_from_float(-0.0f) == 0x8000);
  CHECK(wb::f16_bits_from_float(std::numeric_limits<float>::denorm_min()) == 0x0000);
  CHECK(wb::to_bf16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(wb::to_bf16(-0.0f).bits == 0x8000);
}

TEST_CASE("a NaN stays a NaN whatever its payload", "[core][half]") {
  for (const std::uint32_t bits :
       {0x7f800001u, 0xff800001u, 0x7fc00000u, 0x7fffffffu, 0x7f80ffffu}) {
    const auto nan = std::bit_cast<float>(bits);
    CHECK(is_nan16(wb::f16_bits_from_float(nan), 0x7c00));
    CHECK(is_nan16(wb::to_f16(nan).bits, 0x7c00));
    CHECK(is_nan16(wb::to_bf16(nan).bits, 0x7f80));
  }
}

#if defined(__x86_64__) && !defined(__F16C__)
#include <immintrin.h>
namespace {
__attribute__((target("f16c"))) std::uint16_t hardware_f16(float value) {
  const __m128i packed = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT);
  return static_cast<std::uint16_t>(_mm_cvtsi128_si32(packed));
}
__attribute__((target("f16c"))) float hardware_float(std::uint16_t bits) {
  return _cvtsh_ss(bits);
}
}  // namespace

TEST_CASE("the portable conversions agree with F16C bit by bit", "[core][half]") {
  // clang 14 cannot be asked for F16C itself; every processor with AVX2 has it.
  if (!__builtin_cpu_supports("avx2")) {
    WARN("skipped: this processor has no AVX2, so perhaps no F16C");
    return;
  }
  int faults = 0;
  for (std::uint32_t i = 0; i < k_patterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto ours = std::bit_cast<std::uint32_t>(wb::float_from_f16_bits(bits));
    if (ours != std::bit_cast<std::uint32_t>(hardware_float(bits))) ++faults;
  }
  CHECK(faults == 0);
  // Every 2039th float: all exponents, both signs, about two million values.
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 32); i += 2039) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(i));
    if (wb::f16_bits_from_float(value) != hardware_f16(value)) ++faults;
  }
  CHECK(faults == 0);
}
#endif

TEST_CASE("dtype words and sizes", "[core][dtype]") {
  CHECK(wb::to_string(wb::Dtype::bf16) == "bf16");
  CHECK(wb::parse_dtype("f16") == wb::Dtype::f16);
  CHECK(wb::parse_dtype("f32") == wb::Dtype::f32);
  CHECK_FALSE(wb::parse_dtype("fp16").has_value());
  CHECK_FALSE(wb::parse_dtype("").has_value());
  CHECK(wb::size_bytes(wb::Dtype::f32) == 4);
  CHECK(wb::size_bytes(wb::Dtype::f16) == 2);
  CHECK(wb::size_bytes(wb::Dtype::bf16) == 2);
}
