// SPDX-License-Identifier: MIT
// Compiled with optimization in every build type and without contraction of a * b + c (see
// CMakeLists.txt): `std` is pinned, so a host with fused multiply-add must not change it.
#include "problem/gemm.hpp"

#include <bit>
#include <cstring>

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

}  // namespace wb::problem
