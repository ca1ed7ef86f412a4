// SPDX-License-Identifier: MIT
// Arithmetic of CPU kernels: what <algorithm> and <bit> have and is slow to compile (support.hpp),
// vectors of floats, the exponential, and the dot product.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace wb_cpu {

inline constexpr float k_minus_infinity = -std::numeric_limits<float>::infinity();

template <typename T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
constexpr T clamp(T value, T low, T high) {
  return min(max(value, low), high);
}
inline void fill(float* from, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) from[i] = value;
}
template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
inline float float_of_bits(std::uint32_t bits) {
  return bit_cast<float>(bits);
}

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Vec is one hardware vector of floats; arithmetic with scalars and vectors works lane by lane.
#if defined(__AVX512F__)
inline constexpr int k_lanes = 16;
#elif defined(__AVX__)
inline constexpr int k_lanes = 8;
#else
inline constexpr int k_lanes = 4;
#endif
typedef float Vec __attribute__((vector_size(k_lanes * sizeof(float))));

inline Vec load_vec(const float* from) {
  Vec value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store_vec(float* to, Vec value) {
  std::memcpy(to, &value, sizeof value);
}

/// e^x for x <= 0 (or -inf, which gives exactly 0), within one unit in the last place. Free of
/// branches and calls, so that loops over it are vectorised.
inline float exp_nonpositive(float x) {
  constexpr float k_log2_e = 1.44269504088896341f;
  constexpr float k_ln2_high = 0.693359375f, k_ln2_low = -2.12194440e-4f;
  constexpr float k_round = 12582912.0f;    // 1.5 * 2^23: adding it rounds to an integer
  constexpr float k_smallest = -87.33654f;  // e^x is subnormal below: flushed to 0
  const float clamped = x < k_smallest ? k_smallest : x;
  const float shifted = clamped * k_log2_e + k_round;
  const float n = shifted - k_round;
  const float r = (clamped - n * k_ln2_high) - n * k_ln2_low;  // |r| <= ln(2)/2
  float p = 1.381459879e-3f;  // fitted to (e^r - 1 - r) / r^2, worst relative error 3.1e-9
  p = p * r + 8.368716575e-3f;
  p = p * r + 4.166838899e-2f;
  p = p * r + 1.666652113e-1f;
  p = p * r + 4.999999404e-1f;
  p = p * r * r + r + 1.0f;
  const std::uint32_t power = bit_cast<std::uint32_t>(shifted) << 23;  // n in the exponent
  const float value = float_of_bits(bit_cast<std::uint32_t>(p) + power);
  return x < k_smallest ? 0.0f : value;
}

/// The sum over d of a[d] * b[d], in k_lanes partial sums.
inline float dot(const float* a, const float* b, std::int64_t count) {
  Vec sums{};
  std::int64_t d = 0;
  for (; d + k_lanes <= count; d += k_lanes) sums += load_vec(a + d) * load_vec(b + d);
  float sum = 0;
  for (int lane = 0; lane < k_lanes; ++lane) sum += sums[lane];
  for (; d < count; ++d) sum += a[d] * b[d];
  return sum;
}

}  // namespace wb_cpu
