// SPDX-License-Identifier: MIT
// Textual header, no include guard: opens the namespace of one SIMD path and gives it vectors.
// simd_paths.hpp sets WB_SIMD_PATH to 1 (portable), 2 (AVX2) or 3 (AVX-512), includes this, then
// the kernel's code for the path, then simd_path_end.hpp. Everything in between gets the path's
// target attribute, so the file needs no -m flag and runs on CPUs that lack the wider paths.
// Functions of the standard library are compiled for the base target: inner loops keep away from
// them.

#if WB_SIMD_PATH == 3
#if defined(__clang__)
#pragma clang attribute push(                                                    \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
#define WB_SIMD_NAMESPACE path_avx512
#define WB_SIMD_WIDTH 16
#elif WB_SIMD_PATH == 2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define WB_SIMD_NAMESPACE path_avx2
#define WB_SIMD_WIDTH 8
#else
#define WB_SIMD_NAMESPACE path_portable
#define WB_SIMD_WIDTH 4
#endif

namespace WB_SIMD_NAMESPACE {

using namespace wb_cpu;

constexpr int k_width = WB_SIMD_WIDTH;
typedef float Lanes __attribute__((vector_size(k_width * sizeof(float))));
typedef std::uint32_t WordLanes __attribute__((vector_size(k_width * sizeof(float))));
typedef std::uint16_t HalfLanes __attribute__((vector_size(k_width * sizeof(std::uint16_t))));

[[gnu::always_inline]] inline Lanes load(const float* from) {
  Lanes value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
[[gnu::always_inline]] inline void store(float* to, Lanes value) {
  std::memcpy(to, &value, sizeof value);
}
[[gnu::always_inline]] inline Lanes splat(float value) {
  return value - Lanes{};
}
/// Keeps a loaded vector in a register. Without it, g++ loads it again for each of its uses, as an
/// operand in memory, and loads then are what a product waits for.
[[gnu::always_inline]] inline Lanes in_register(Lanes value) {
#if WB_SIMD_X86
  asm("" : "+v"(value));
#endif
  return value;
}
[[gnu::always_inline]] inline Lanes larger(Lanes a, Lanes b) {
  return a > b ? a : b;
}

/// 2^x for x <= 0 (exactly 0 for -inf and where the result would be subnormal; exactly 1 at 0).
/// Degree 6 on [-1/2, 1/2], fitted for the relative error: 2.0e-9 in exact arithmetic. Worst found
/// over every third float of [-126, -2^-24]: 8.0e-8 with fused multiply-adds, 1.1e-7 without.
[[gnu::always_inline]] inline Lanes exp2_nonpositive(Lanes x) {
  const Lanes smallest = splat(-126.0f);
  const Lanes to_integer = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Lanes clamped = larger(x, smallest);
  const Lanes shifted = clamped + to_integer;
  const Lanes r = clamped - (shifted - to_integer);
  Lanes p = splat(1.535336191e-4f);
  p = p * r + splat(1.339887441e-3f);
  p = p * r + splat(9.618437358e-3f);
  p = p * r + splat(5.550332471e-2f);
  p = p * r + splat(2.402264791e-1f);
  p = p * r + splat(6.931472029e-1f);
  p = p * r + splat(1.0f);
  WordLanes bits, power;
  std::memcpy(&bits, &p, sizeof bits);
  std::memcpy(&power, &shifted, sizeof power);
  bits += power << 23;  // the integer stands in the low bits of `shifted`
  Lanes value;
  std::memcpy(&value, &bits, sizeof value);
  return x < smallest ? Lanes{} : value;
}

/// from[0..k_width) as f32.
[[gnu::always_inline]] inline Lanes load_bf16(const std::uint16_t* from) {
  HalfLanes halves;
  std::memcpy(&halves, from, sizeof halves);
  const WordLanes words = __builtin_convertvector(halves, WordLanes) << 16;
  Lanes value;
  std::memcpy(&value, &words, sizeof value);
  return value;
}
[[gnu::always_inline]] inline Lanes load_f16(const std::uint16_t* from) {
#if WB_SIMD_PATH == 3
  // The masked form, because g++ warns about the undefined operand inside the plain one.
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif WB_SIMD_PATH == 2
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  Lanes value{};
  for (int lane = 0; lane < k_width; ++lane) value[lane] = f32_from_f16(from[lane]);
  return value;
#endif
}

/// to[0..count) = base[offset..offset+count) as f32, times `factor`; zeros up to `padded`.
inline void load_floats(const void* base, std::int64_t offset, std::int64_t count,
                        std::int64_t padded, std::int32_t dtype, float factor, float* to) {
  const Lanes factors = splat(factor);
  std::int64_t d = 0;
  if (dtype == WB_F32) {
    const float* from = static_cast<const float*>(base) + offset;
    for (; d + k_width <= count; d += k_width) store(to + d, load(from + d) * factors);
    for (; d < count; ++d) to[d] = from[d] * factor;
  } else {
    const std::uint16_t* from = static_cast<const std::uint16_t*>(base) + offset;
    if (dtype == WB_BF16) {
      for (; d + k_width <= count; d += k_width) store(to + d, load_bf16(from + d) * factors);
      for (; d < count; ++d) to[d] = f32_from_bf16(from[d]) * factor;
    } else {
      for (; d + k_width <= count; d += k_width) store(to + d, load_f16(from + d) * factors);
      for (; d < count; ++d) to[d] = f32_from_f16(from[d]) * factor;
    }
  }
  for (; d < padded; ++d) to[d] = 0.0f;
}

/// `count` rows of K or V from element offset `at` on, as f32. They are read where they lie when
/// they are f32, need no padding and, where `packed` asks for it, follow each other without gaps;
/// else they are converted into `staged`, rows of `padded` floats.
inline FloatRows stage_rows(const void* base, std::int64_t at, std::int64_t stride,
                            std::int64_t count, std::int64_t dim, std::int64_t padded,
                            std::int32_t dtype, bool packed, float* staged) {
  if (dtype == WB_F32 && dim == padded && (stride == dim || !packed)) {
    return {static_cast<const float*>(base) + at, stride};
  }
  for (std::int64_t n = 0; n < count; ++n) {
    load_floats(base, at + n * stride, dim, padded, dtype, 1.0f, staged + n * padded);
  }
  return {staged, padded};
}

/// The largest score of a row in natural units. In base 2 it may be less than any f32: a row of the
/// least values of an additive mask. Beside such values scores do not count.
inline float natural_max(const Call& call, std::int64_t b, QueryRow row, float row_max) {
  if (row_max > k_least_score) return row_max * k_ln_2;
  const wb_sdpa_problem& p = call.problem;
  float largest = k_minus_infinity;
  if (p.mask != WB_MASK_ADDITIVE) return largest;
  const std::int64_t at = offset(p.mask_strides, b, row.h, row.i);
  for (std::int64_t n = 0; n < visible_keys(p, row.i); ++n) {
    float value = 0;
    load_row(call.args.mask, at + n, 1, p.dtype, 1.0f, &value);
    largest = max(largest, value);
  }
  return largest;
}

/// What the mask adds to a row's scores of keys [first, first + count), times log2(e).
inline void load_bias(const Call& call, std::int64_t b, QueryRow row, std::int64_t first,
                      std::int64_t count, float* bias) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t at = offset(p.mask_strides, b, row.h, row.i) + first;
  if (p.mask == WB_MASK_ADDITIVE) {
    load_floats(call.args.mask, at, count, count, p.dtype, 1.0f, bias);
    for (std::int64_t n = 0; n < count; ++n) {
      // A finite value stays finite in base 2: it does not mask. By the bits, because GCC 13 takes
      // -inf for the least finite value where a value is compared with that.
      const float value = bias[n] * k_log2_e;
      const bool masks = bit_cast<std::uint32_t>(bias[n]) == k_bits_of_minus_infinity;
      const bool is_too_low = bit_cast<std::uint32_t>(value) == k_bits_of_minus_infinity;
      bias[n] = is_too_low && !masks ? k_least_score : value;
    }
    return;
  }
  const std::uint8_t* keep = static_cast<const std::uint8_t*>(call.args.mask) + at;
  for (std::int64_t n = 0; n < count; ++n) bias[n] = keep[n] ? 0.0f : k_minus_infinity;
}
