// SPDX-License-Identifier: MIT
// Compiled with optimization in every build type and without contraction of a * b + c (see
// CMakeLists.txt): `std` is pinned, so a host with fused multiply-add must not change it.
#include "problem/inner_loops.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace wb::problem {
namespace {

template <typename T, int k_bytes>
struct VectorOf {
  using Type [[gnu::vector_size(k_bytes)]] = T;
};
/// Bytes of a vector; without AVX2 the compiler splits each in halves.
constexpr int k_usual_bytes = 32, k_wide_bytes = 64;

/// A tile of k_rows x (2 vectors) of C stays in registers while depth runs.
template <typename T, int k_rows, int k_bytes>
WB_ALWAYS_INLINE void gemm_tile(T* c, std::int64_t c_stride, const T* a, std::int64_t a_stride,
                                const T* b, std::int64_t b_stride, std::int64_t depth) {
  using Vector = typename VectorOf<T, k_bytes>::Type;
  constexpr std::int64_t k_lanes = sizeof(Vector) / sizeof(T);
  Vector acc[k_rows][2];
  for (int i = 0; i < k_rows; ++i) std::memcpy(acc[i], c + i * c_stride, sizeof acc[i]);
  for (std::int64_t d = 0; d < depth; ++d) {
    Vector b0, b1;
    std::memcpy(&b0, b + d * b_stride, sizeof b0);
    std::memcpy(&b1, b + d * b_stride + k_lanes, sizeof b1);
    for (int i = 0; i < k_rows; ++i) {
      const T factor = a[i * a_stride + d];
      acc[i][0] += factor * b0;
      acc[i][1] += factor * b1;
    }
  }
  for (int i = 0; i < k_rows; ++i) std::memcpy(c + i * c_stride, acc[i], sizeof acc[i]);
}

/// Computes tiles from column `from` on; returns the column where they end.
template <typename T, int k_rows, int k_bytes>
WB_ALWAYS_INLINE std::int64_t gemm_tiles(Panel<T> c, Panel<const T> a, Panel<const T> b,
                                         std::int64_t from, std::int64_t columns,
                                         std::int64_t depth) {
  constexpr std::int64_t k_tile = 2 * k_bytes / sizeof(T);
  std::int64_t j = from;
  for (; j + k_tile <= columns; j += k_tile) {
    gemm_tile<T, k_rows, k_bytes>(c.data + j, c.stride, a.data, a.stride, b.data + j, b.stride,
                                  depth);
  }
  return j;
}

template <typename T, int k_rows, int k_bytes>
WB_ALWAYS_INLINE void gemm_rows(Panel<T> c, Panel<const T> a, Panel<const T> b,
                                std::int64_t columns, std::int64_t depth) {
  std::int64_t j = 0;
  if constexpr (k_bytes > k_usual_bytes) {
    j = gemm_tiles<T, k_rows, k_bytes>(c, a, b, j, columns, depth);
  }
  j = gemm_tiles<T, k_rows, k_usual_bytes>(c, a, b, j, columns, depth);
  for (; j < columns; ++j) {
    for (int i = 0; i < k_rows; ++i) {
      T acc = c.data[i * c.stride + j];
      for (std::int64_t d = 0; d < depth; ++d) {
        acc += a.data[i * a.stride + d] * b.data[d * b.stride + j];
      }
      c.data[i * c.stride + j] = acc;
    }
  }
}

template <typename T, int k_bytes>
WB_ALWAYS_INLINE void gemm_body(Panel<T> c, Panel<const T> a, Panel<const T> b, std::int64_t rows,
                                std::int64_t columns, std::int64_t depth) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    gemm_rows<T, 4, k_bytes>({c.data + i * c.stride, c.stride}, {a.data + i * a.stride, a.stride},
                             b, columns, depth);
  }
  for (; i < rows; ++i) {
    gemm_rows<T, 1, k_bytes>({c.data + i * c.stride, c.stride}, {a.data + i * a.stride, a.stride},
                             b, columns, depth);
  }
}

template <typename T>
void gemm_plain(Panel<T> c, Panel<const T> a, Panel<const T> b, std::int64_t rows,
                std::int64_t columns, std::int64_t depth) {
  gemm_body<T, k_usual_bytes>(c, a, b, rows, columns, depth);
}
template <typename T>
WB_TARGET_AVX2 void gemm_avx2(Panel<T> c, Panel<const T> a, Panel<const T> b, std::int64_t rows,
                              std::int64_t columns, std::int64_t depth) {
  gemm_body<T, k_usual_bytes>(c, a, b, rows, columns, depth);
}
template <typename T>
WB_TARGET_AVX512 void gemm_avx512(Panel<T> c, Panel<const T> a, Panel<const T> b, std::int64_t rows,
                                  std::int64_t columns, std::int64_t depth) {
  gemm_body<T, k_wide_bytes>(c, a, b, rows, columns, depth);
}
template <typename T>
void gemm_for(Isa isa, Panel<T> c, Panel<const T> a, Panel<const T> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth) {
  switch (isa) {
    case Isa::plain:
      return gemm_plain<T>(c, a, b, rows, columns, depth);
    case Isa::avx2:
      return gemm_avx2<T>(c, a, b, rows, columns, depth);
    case Isa::avx512:
      return gemm_avx512<T>(c, a, b, rows, columns, depth);
  }
}

/// Exact for every f16: the exponent is corrected by a multiplication, which also normalizes
/// subnormal numbers; infinity and NaN keep all exponent bits.
WB_ALWAYS_INLINE float float_of_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu;
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

template <typename T>
WB_ALWAYS_INLINE void load_body(Dtype dtype, const std::byte* from, std::int64_t count, T* to) {
  if (dtype == Dtype::f32) {
    for (std::int64_t i = 0; i < count; ++i) {
      float value;
      std::memcpy(&value, from + i * 4, sizeof value);
      to[i] = value;
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * 2, sizeof bits);
    to[i] = dtype == Dtype::f16 ? float_of_f16(bits)
                                : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
}

template <typename T>
void load_plain(Dtype dtype, const std::byte* from, std::int64_t count, T* to) {
  load_body<T>(dtype, from, count, to);
}
template <typename T>
WB_TARGET_AVX2 void load_avx2(Dtype dtype, const std::byte* from, std::int64_t count, T* to) {
  load_body<T>(dtype, from, count, to);
}

}  // namespace

void gemm_add(Panel<double> c, Panel<const double> a, Panel<const double> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, Isa isa) {
  gemm_for<double>(isa, c, a, b, rows, columns, depth);
}

void gemm_add(Panel<float> c, Panel<const float> a, Panel<const float> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, Isa isa) {
  gemm_for<float>(isa, c, a, b, rows, columns, depth);
}

void load_elements(Dtype dtype, const std::byte* from, std::int64_t count, double* to) {
  widest_isa() == Isa::plain ? load_plain(dtype, from, count, to)
                             : load_avx2(dtype, from, count, to);
}

void load_elements(Dtype dtype, const std::byte* from, std::int64_t count, float* to) {
  widest_isa() == Isa::plain ? load_plain(dtype, from, count, to)
                             : load_avx2(dtype, from, count, to);
}

namespace {

constexpr double k_log2_e = 0x1.71547652b82fep0;
constexpr double k_ln2_high = 0x1.62e42feep-1;  // 32 bits: times an exponent it is exact
constexpr double k_ln2_low = 0x1.a39ef35793c76p-33;
/// Added to a number below 2^51, it leaves the nearest integer in the low bits.
constexpr double k_to_integer = 0x1.8p52;
constexpr double k_lowest = -708.0, k_highest = 709.0;
/// Terms of Taylor's series, enough for |r| <= ln 2 / 2: the next one is below 2^-57.
constexpr int k_terms = 14;

constexpr std::array<double, k_terms> k_inverse_factorials = [] {
  std::array<double, k_terms> inverses{};
  double factorial = 1;
  for (int n = 0; n < k_terms; ++n) {
    factorial *= n == 0 ? 1 : n;
    inverses[static_cast<std::size_t>(n)] = 1 / factorial;
  }
  return inverses;
}();

template <int k_bytes>
struct LanesOf {
  using Doubles [[gnu::vector_size(k_bytes)]] = double;
  using Bits [[gnu::vector_size(k_bytes)]] = std::uint64_t;
};

/// exp(x) = 2^n exp(r), lane by lane.
template <int k_bytes>
WB_ALWAYS_INLINE void exponential(typename LanesOf<k_bytes>::Doubles& x) {
  using Doubles = typename LanesOf<k_bytes>::Doubles;
  using Bits = typename LanesOf<k_bytes>::Bits;
  const Doubles shifted = x * k_log2_e + k_to_integer;
  const Doubles n = shifted - k_to_integer;
  const Doubles r = (x - n * k_ln2_high) - n * k_ln2_low;
  Doubles sum = r * k_inverse_factorials[k_terms - 1] + k_inverse_factorials[k_terms - 2];
#pragma GCC unroll 16
  for (int i = k_terms - 3; i >= 0; --i) {
    sum = sum * r + k_inverse_factorials[static_cast<std::size_t>(i)];
  }
  const auto bits = reinterpret_cast<Bits>(sum) + (reinterpret_cast<Bits>(shifted) << 52);
  const Doubles zero{}, infinity = zero + std::numeric_limits<double>::infinity();
  const Doubles low = x < k_lowest ? zero : x;  // NaN compares neither below nor above
  const Doubles not_high = x >= k_lowest ? reinterpret_cast<Doubles>(bits) : low;
  x = x > k_highest ? infinity : not_high;
}

template <int k_bytes, typename T>
WB_ALWAYS_INLINE void exponentials_of(T* values, std::int64_t count) {
  using Doubles = typename LanesOf<k_bytes>::Doubles;
  constexpr std::int64_t k_count = k_bytes / sizeof(double);
  using Stored [[gnu::vector_size(k_count * sizeof(T))]] = T;
  const auto replace = [](T* from) WB_ALWAYS_INLINE_LAMBDA {
    Stored stored;
    std::memcpy(&stored, from, sizeof stored);
    Doubles lanes = __builtin_convertvector(stored, Doubles);
    exponential<k_bytes>(lanes);
    stored = __builtin_convertvector(lanes, Stored);
    std::memcpy(from, &stored, sizeof stored);
  };
  std::int64_t i = 0;
  for (; i + k_count <= count; i += k_count) replace(values + i);
  if (i == count) return;
  T rest[k_count] = {};
  std::copy(values + i, values + count, rest);
  replace(rest);
  std::copy(rest, rest + (count - i), values + i);
}

template <typename T>
void exponentials_plain(T* values, std::int64_t count) {
  exponentials_of<16>(values, count);
}
template <typename T>
WB_TARGET_AVX2 void exponentials_avx2(T* values, std::int64_t count) {
  exponentials_of<32>(values, count);
}
template <typename T>
WB_TARGET_AVX512 void exponentials_avx512(T* values, std::int64_t count) {
  exponentials_of<64>(values, count);
}
template <typename T>
void exponentials_for(Isa isa, T* values, std::int64_t count) {
  switch (isa) {
    case Isa::plain:
      return exponentials_plain(values, count);
    case Isa::avx2:
      return exponentials_avx2(values, count);
    case Isa::avx512:
      return exponentials_avx512(values, count);
  }
}

}  // namespace

void exponentials(double* values, std::int64_t count, Isa isa) {
  exponentials_for(isa, values, count);
}

void exponentials(float* values, std::int64_t count, Isa isa) {
  exponentials_for(isa, values, count);
}

}  // namespace wb::problem
