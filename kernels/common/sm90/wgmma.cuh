// SPDX-License-Identifier: MIT
// wgmma.mma_async (sm_90a): one warpgroup multiplies 64 rows with B from shared memory; A comes
// from shared memory or registers; the accumulators stay in registers, warp w having rows 16 w to
// 16 w + 15 in the layout of mma.sync's C. Nothing may touch the accumulators, or A's registers,
// between the issue and the wait: fence_operands keeps the compiler from doing so.
//
// Shared-memory operands have the 128-byte swizzle that TMA writes: slabs of 64
// elements (128 bytes) a line, 16-byte unit u of line r at u ^ (r % 8), bases on 1024 bytes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace wb::gpu {

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int Pending>
__device__ __forceinline__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

template <int N>
__device__ __forceinline__ void fence_operands(float (&d)[N][4]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) asm volatile("" : "+f"(d[i][c])::"memory");
  }
}

template <int N>
__device__ __forceinline__ void fence_operands(uint32_t (&a)[N][4]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) asm volatile("" : "+r"(a[i][c])::"memory");
  }
}

// Operand whose lines run along K (Q, K): groups of 8 lines are 1024 bytes apart.
__device__ __forceinline__ uint64_t wgmma_descriptor_k_major(uint32_t smem) {
  return (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) | (uint64_t(1) << 16) |
         ((smem & 0x3ffff) >> 4);
}

// Operand whose lines run along N (V): the next 8 lines along K are 1024 bytes on, the next 64
// columns one slab.
__device__ __forceinline__ uint64_t wgmma_descriptor_mn_major(uint32_t smem, uint32_t slab_bytes) {
  return (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) | (uint64_t(slab_bytes >> 4) << 16) |
         ((smem & 0x3ffff) >> 4);
}

// The same operand `bytes` further on. Only the low word changes (addresses end below 256 KB), so a
// row of products costs one addition each instead of a chain of four instructions that wait for
// each other.
__device__ __forceinline__ uint64_t wgmma_descriptor_add(uint64_t descriptor, uint32_t bytes) {
  uint64_t moved;
  asm("{\n.reg .b32 low, high;\n"
      "mov.b64 {low, high}, %1;\n"
      "add.u32 low, low, %2;\n"
      "mov.b64 %0, {low, high};\n}"
      : "=l"(moved)
      : "l"(descriptor), "r"(bytes >> 4));
  return moved;
}

// d = a b^T (+ d when `accumulate`), m64nNk16; a and b from shared memory, both along K.
template <typename T, int N>
__device__ __forceinline__ void wgmma_ss(float (&d)[N][4], uint64_t a, uint64_t b, int accumulate);

// d = a b (+ d when `accumulate`), m64nNk16; a from registers, b from shared memory with its lines
// along N.
template <typename T, int N>
__device__ __forceinline__ void wgmma_rs(float (&d)[N][4], const uint32_t (&a)[4], uint64_t b,
                                         int accumulate = 1);

// clang-format off
#define WB_WGMMA_OPERANDS_64 \
  "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]), \
  "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), \
  "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]), \
  "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]), \
  "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]), \
  "+f"(d[7][2]), "+f"(d[7][3])
#define WB_WGMMA_REGISTERS_64 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 " \
  "}"
template <>
__device__ __forceinline__ void wgmma_ss<__half, 8>(float (&d)[8][4], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WB_WGMMA_REGISTERS_64 ", %32, %33, p, 1, 1, 0, 0;\n}"
      : WB_WGMMA_OPERANDS_64 : "l"(a), "l"(b), "r"(accumulate));
}
template <>
__device__ __forceinline__ void wgmma_rs<__half, 8>(float (&d)[8][4], const uint32_t (&a)[4], uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WB_WGMMA_REGISTERS_64 ", "
      "{%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
      : WB_WGMMA_OPERANDS_64 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
template <>
__device__ __forceinline__ void wgmma_ss<__nv_bfloat16, 8>(float (&d)[8][4], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " WB_WGMMA_REGISTERS_64 ", %32, %33, p, 1, 1, 0, 0;\n}"
      : WB_WGMMA_OPERANDS_64 : "l"(a), "l"(b), "r"(accumulate));
}
template <>
__device__ __forceinline__ void wgmma_rs<__nv_bfloat16, 8>(float (&d)[8][4], const uint32_t (&a)[4], uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " WB_WGMMA_REGISTERS_64 ", "
      "{%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
      : WB_WGMMA_OPERANDS_64 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
#undef WB_WGMMA_OPERANDS_64
#undef WB_WGMMA_REGISTERS_64
#define WB_WGMMA_OPERANDS_128 \
  "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]), \
  "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), \
  "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]), \
  "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]), \
  "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]), \
  "+f"(d[7][2]), "+f"(d[7][3]), "+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]), \
  "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]), "+f"(d[10][0]), \
  "+f"(d[10][1]), "+f"(d[10][2]), "+f"(d[10][3]), "+f"(d[11][0]), "+f"(d[11][1]), \
  "+f"(d[11][2]), "+f"(d[11][3]), "+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), \
  "+f"(d[12][3]), "+f"(d[13][0]), "+f"(d[13][1]), "+f"(d[13][2]), "+f"(d[13][3]), \
  "+f"(d[14][0]), "+f"(d[14][1]), "+f"(d[14][2]), "+f"(d[14][3]), "+f"(d[15][0]), \
  "+f"(d[15][1]), "+f"(d[15][2]), "+f"(d[15][3])
#define WB_WGMMA_REGISTERS_128 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, " \
  "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 " \
  "}"
template <>
__device__ __forceinline__ void wgmma_ss<__half, 16>(float (&d)[16][4], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " WB_WGMMA_REGISTERS_128 ", %64, %65, p, 1, 1, 0, 0;\n}"
      : WB_WGMMA_OPERANDS_128 : "l"(a), "l"(b), "r"(accumulate));
}
template <>
__device__ __forceinline__ void wgmma_rs<__half, 16>(float (&d)[16][4], const uint32_t (&a)[4], uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " WB_WGMMA_REGISTERS_128 ", "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}"
      : WB_WGMMA_OPERANDS_128 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
template <>
__device__ __forceinline__ void wgmma_ss<__nv_bfloat16, 16>(float (&d)[16][4], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " WB_WGMMA_REGISTERS_128 ", %64, %65, p, 1, 1, 0, 0;\n}"
      : WB_WGMMA_OPERANDS_128 : "l"(a), "l"(b), "r"(accumulate));
}
template <>
__device__ __forceinline__ void wgmma_rs<__nv_bfloat16, 16>(float (&d)[16][4], const uint32_t (&a)[4], uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " WB_WGMMA_REGISTERS_128 ", "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}"
      : WB_WGMMA_OPERANDS_128 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
#undef WB_WGMMA_OPERANDS_128
#undef WB_WGMMA_REGISTERS_128
// clang-format on

}  // namespace wb::gpu
