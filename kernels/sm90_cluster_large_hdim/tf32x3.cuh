// SPDX-License-Identifier: MIT
// f32 products on the tf32 tensor cores: an operand is the sum of what tf32 holds of it and of the
// rest, and three products stand for one (the rests' own is 2^-20 of it at most). Used by
// products.cuh. With g = lane / 4 and t = lane % 4, of a warp's mma m16n8k8 and of its 16 rows of a
// warpgroup's wgmma m64nNk8:
//   A[16][8]  a0 = (g, t)  a1 = (g + 8, t)  a2 = (g, t + 4)  a3 = (g + 8, t + 4)
//   B[8][8]   b0 = (t, g)  b1 = (t + 4, g)                   (wgmma: from shared memory)
//   C[16][8]  c0, c1 = (g, 2t..2t+1)  c2, c3 = (g + 8, 2t..2t+1)
#pragma once

#include "sm80/mma.cuh"
#include "sm90/wgmma.cuh"

#include <cstdint>

namespace wb::gpu {

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                 uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// d = a b (+ d when `accumulate`), m64nNk8 with 8 columns in each of d's groups; a from registers,
// b from shared memory along K.
template <int Groups>
__device__ __forceinline__ void wgmma_rs_tf32(float (&d)[Groups][4], const uint32_t (&a)[4],
                                              uint64_t b, int accumulate = 1);

// clang-format off
#define WB_D(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define WB_WGMMA_RS_TF32(groups, columns, registers, a0, a1, a2, a3, from, flag, ...) \
  template <> \
  __device__ __forceinline__ void wgmma_rs_tf32<groups>(float (&d)[groups][4], const uint32_t (&a)[4], uint64_t b, int accumulate) { \
    asm volatile( \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #flag ", 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k8.f32.tf32.tf32 {" registers "}, " \
        "{%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #from ", p, 1, 1;\n}" \
        : __VA_ARGS__ : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate)); \
  }
#define WB_R_1 "%0, %1, %2, %3"
#define WB_R_2 WB_R_1 ", %4, %5, %6, %7"
#define WB_R_4 WB_R_2 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WB_R_8 WB_R_4 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
WB_WGMMA_RS_TF32(1, 8, WB_R_1, 4, 5, 6, 7, 8, 9, WB_D(0))
WB_WGMMA_RS_TF32(2, 16, WB_R_2, 8, 9, 10, 11, 12, 13, WB_D(0), WB_D(1))
WB_WGMMA_RS_TF32(4, 32, WB_R_4, 16, 17, 18, 19, 20, 21, WB_D(0), WB_D(1), WB_D(2), WB_D(3))
WB_WGMMA_RS_TF32(8, 64, WB_R_8, 32, 33, 34, 35, 36, 37, WB_D(0), WB_D(1), WB_D(2), WB_D(3), WB_D(4), WB_D(5), WB_D(6), WB_D(7))
#undef WB_R_1
#undef WB_R_2
#undef WB_R_4
#undef WB_R_8
#undef WB_WGMMA_RS_TF32
#undef WB_D
// clang-format on

// What tf32 holds of x, rounded, and the rest. Cut off instead, every first part would be a little
// too small, and over thousands of columns these errors add up.
__device__ __forceinline__ uint32_t tf32_high(uint32_t x) {
  return (x + 0x1000u) & 0xffffe000u;
}

__device__ __forceinline__ uint32_t tf32_low(uint32_t x) {
  return __float_as_uint(__uint_as_float(x) - __uint_as_float(tf32_high(x)));
}

__device__ __forceinline__ float4 tf32_high(float4 x) {
  return make_float4(__uint_as_float(tf32_high(__float_as_uint(x.x))),
                     __uint_as_float(tf32_high(__float_as_uint(x.y))),
                     __uint_as_float(tf32_high(__float_as_uint(x.z))),
                     __uint_as_float(tf32_high(__float_as_uint(x.w))));
}

__device__ __forceinline__ float4 tf32_low(float4 x) {
  const float4 high = tf32_high(x);
  return make_float4(x.x - high.x, x.y - high.y, x.z - high.z, x.w - high.w);
}

// An operand A.
struct Split {
  uint32_t high[4], low[4];
  Split() = default;
  __device__ __forceinline__ explicit Split(const uint32_t (&x)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      high[i] = tf32_high(x[i]);
      low[i] = tf32_low(x[i]);
    }
  }
};

// Sums on the tensor cores are cut off, not rounded, so the small terms have sums of their own. The
// groups of 8 columns are taken in turns: a product waits for the last one into the same sum.
template <int Groups>
struct Sums {
  float high[Groups][4] = {}, low[Groups][4] = {};
  // The `half`-th of two products along K, for which b has the operands B.
  __device__ __forceinline__ void add(const Split& a, const uint32_t (&b)[Groups][4], int half) {
    const int i = 2 * half;
#pragma unroll
    for (int n = 0; n < Groups; ++n)
      mma_m16n8k8_tf32(low[n], a.low, tf32_high(b[n][i]), tf32_high(b[n][i + 1]));
#pragma unroll
    for (int n = 0; n < Groups; ++n)
      mma_m16n8k8_tf32(high[n], a.high, tf32_high(b[n][i]), tf32_high(b[n][i + 1]));
#pragma unroll
    for (int n = 0; n < Groups; ++n)
      mma_m16n8k8_tf32(low[n], a.high, tf32_low(b[n][i]), tf32_low(b[n][i + 1]));
  }
  __device__ __forceinline__ void total(float (&x)[Groups][4]) const {
#pragma unroll
    for (int n = 0; n < Groups; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) x[n][c] = high[n][c] + low[n][c];
    }
  }
};

// The operand `step` products on along K; a slab holds four.
__device__ __forceinline__ uint64_t slab_step(uint64_t b, int step, int slab_bytes) {
  return wgmma_descriptor_add(b, step / 4 * slab_bytes + step % 4 * 32);
}

// The same on a warpgroup, for Steps products along K that are summed up together: small terms
// first, into the same sums. Issued; the caller commits and waits. `high` and `low`: B's two parts,
// whose lines have slabs of 32 elements; a slab is `slab_bytes` behind the other.
template <int Steps, int Groups>
__device__ __forceinline__ void wgmma_sums(float (&sums)[Groups][4], const Split (&a)[Steps],
                                           uint64_t high, uint64_t low, int slab_bytes) {
#pragma unroll
  for (int i = 0; i < Steps; ++i)
    wgmma_rs_tf32<Groups>(sums, a[i].low, slab_step(high, i, slab_bytes), i > 0);
#pragma unroll
  for (int i = 0; i < Steps; ++i)
    wgmma_rs_tf32<Groups>(sums, a[i].high, slab_step(low, i, slab_bytes));
#pragma unroll
  for (int i = 0; i < Steps; ++i)
    wgmma_rs_tf32<Groups>(sums, a[i].high, slab_step(high, i, slab_bytes));
}

// Keeps the compiler from touching operands of products that are under way.
template <int Steps>
__device__ __forceinline__ void fence_operands(Split (&a)[Steps]) {
#pragma unroll
  for (int i = 0; i < Steps; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      asm volatile("" : "+r"(a[i].high[c]), "+r"(a[i].low[c])::"memory");
    }
  }
}

// 16 rows by 8 columns of a matrix whose lines lie `line` floats apart, as A; `at` is its corner.
__device__ __forceinline__ void load_rows_a(uint32_t (&x)[4], uint32_t at, int line, int lane) {
  ldmatrix_x4(x, at + (lane % 16 * line + lane / 16 * 4) * 4);
}

// 8 rows by 16 columns as the operands B, for two products along K, that stand for the transpose.
__device__ __forceinline__ void load_rows_b(uint32_t (&x)[4], uint32_t at, int line, int lane) {
  ldmatrix_x4(x, at + (lane % 8 * line + lane / 8 * 4) * 4);
}

}  // namespace wb::gpu
