// SPDX-License-Identifier: MIT
// f32 products on the tf32 tensor cores: an operand is the sum of what tf32 holds of it and of the
// rest, and three products stand for one (the rests' own is 2^-20 of it at most). Used by
// large_hdim.cuh. mma m16n8k8, with g = lane / 4 and t = lane % 4:
//   A[16][8]  a0 = (g, t)  a1 = (g + 8, t)  a2 = (g, t + 4)  a3 = (g + 8, t + 4)
//   B[8][8]   b0 = (t, g)  b1 = (t + 4, g)
//   C[16][8]  c0, c1 = (g, 2t..2t+1)  c2, c3 = (g + 8, 2t..2t+1)
#pragma once

#include "mma.cuh"

#include <cstdint>

namespace wb::gpu {

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&c)[4], const uint32_t (&a)[4],
                                                 const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// N registers of f32 bits. The tensor cores cut the low 13 bits off by themselves.
template <int N>
struct Split {
  uint32_t high[N], low[N];
  __device__ __forceinline__ explicit Split(const uint32_t (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      high[i] = x[i] & 0xffffe000u;
      low[i] = __float_as_uint(__uint_as_float(x[i]) - __uint_as_float(high[i]));
    }
  }
};

// Sums on the tensor cores are cut off, not rounded, so the small terms have sums of their own.
struct Sums {
  float high[4] = {0.0f, 0.0f, 0.0f, 0.0f}, low[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  __device__ __forceinline__ void add(const Split<4>& a, const Split<2>& b) {
    mma_m16n8k8_tf32(low, a.low, b.high);
    mma_m16n8k8_tf32(high, a.high, b.high);
    mma_m16n8k8_tf32(low, a.high, b.low);
  }
  __device__ __forceinline__ float total(int c) const { return high[c] + low[c]; }
};

// 16 rows by 8 columns of a matrix whose lines lie `line` floats apart, as A; `at` is its corner.
__device__ __forceinline__ void load_rows_a(uint32_t (&x)[4], uint32_t at, int line, int lane) {
  ldmatrix_x4(x, at + (lane % 16 * line + lane / 16 * 4) * 4);
}

// 16 rows by 8 columns as two operands B that stand for the transpose.
__device__ __forceinline__ void load_rows_b(uint32_t (&x)[4], uint32_t at, int line, int lane) {
  ldmatrix_x4(x, at + ((lane % 8 + lane / 16 * 8) * line + lane / 8 % 2 * 4) * 4);
}

}  // namespace wb::gpu
