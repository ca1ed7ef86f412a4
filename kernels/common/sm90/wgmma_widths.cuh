// SPDX-License-Identifier: MIT
// wgmma.mma_async of other widths than wgmma.cuh's 64 and 128 columns: score tiles of 80, 96, 112
// and 160 keys, outputs of 72, 80, 88, 96, 160, 192 and 256 columns. wgmma.cuh says how operands lie.
#pragma once

#include "sm90/wgmma.cuh"

namespace wb::gpu {

// d += a b, m64n256k16; a from shared memory along K, b from shared memory with its lines along N.
template <typename T>
__device__ __forceinline__ void wgmma_ss_mn_256(float (&d)[32][4], uint64_t a, uint64_t b);

// clang-format off
// Eight columns of the accumulator each.
#define WB_D(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define WB_D_9 WB_D(0), WB_D(1), WB_D(2), WB_D(3), WB_D(4), WB_D(5), WB_D(6), WB_D(7), WB_D(8)
#define WB_D_10 WB_D_9, WB_D(9)
#define WB_D_11 WB_D_10, WB_D(10)
#define WB_D_12 WB_D_11, WB_D(11)
#define WB_D_14 WB_D_12, WB_D(12), WB_D(13)
#define WB_D_20 WB_D_14, WB_D(14), WB_D(15), WB_D(16), WB_D(17), WB_D(18), WB_D(19)
#define WB_D_24 WB_D_20, WB_D(20), WB_D(21), WB_D(22), WB_D(23)
#define WB_D_32 WB_D_24, WB_D(24), WB_D(25), WB_D(26), WB_D(27), WB_D(28), WB_D(29), WB_D(30), WB_D(31)
#define WB_R_9 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
  ", %32, %33, %34, %35"
#define WB_R_10 WB_R_9 \
  ", %36, %37, %38, %39"
#define WB_R_11 WB_R_10 \
  ", %40, %41, %42, %43"
#define WB_R_12 WB_R_11 \
  ", %44, %45, %46, %47"
#define WB_R_14 WB_R_12 \
  ", %48, %49, %50, %51, %52, %53, %54, %55"
#define WB_R_20 WB_R_14 \
  ", %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71" \
  ", %72, %73, %74, %75, %76, %77, %78, %79"
#define WB_R_24 WB_R_20 \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WB_R_32 WB_R_24 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// N8: columns / 8; I0 and on: the numbers of the operands behind the accumulator's.
#define WB_WGMMA_SS(T, TYPE, N, N8, I0, I1, I2) \
  template <> \
  __device__ __forceinline__ void wgmma_ss<T, N8>(float (&d)[N8][4], uint64_t a, uint64_t b, int accumulate) { \
    asm volatile( \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2 ", 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" WB_R_##N8 "}, %" #I0 ", %" #I1 ", p, 1, 1, 0, 0;\n}" \
        : WB_D_##N8 : "l"(a), "l"(b), "r"(accumulate)); \
  }
#define WB_WGMMA_RS(T, TYPE, N, N8, I0, I1, I2, I3, I4, I5) \
  template <> \
  __device__ __forceinline__ void wgmma_rs<T, N8>(float (&d)[N8][4], const uint32_t (&a)[4], uint64_t b, int accumulate) { \
    asm volatile( \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #I5 ", 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" WB_R_##N8 "}, {%" #I0 ", %" #I1 ", %" #I2 ", %" #I3 "}, %" #I4 ", p, 1, 1, 1;\n}" \
        : WB_D_##N8 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate)); \
  }
#define WB_WGMMA_SS_MN_256(T, TYPE) \
  template <> \
  __device__ __forceinline__ void wgmma_ss_mn_256<T>(float (&d)[32][4], uint64_t a, uint64_t b) { \
    asm volatile( \
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {" WB_R_32 "}, %128, %129, 1, 1, 1, 0, 1;" \
        : WB_D_32 : "l"(a), "l"(b)); \
  }
#define WB_WGMMA_OF(T, TYPE) \
  WB_WGMMA_SS(T, TYPE, 80, 10, 40, 41, 42) \
  WB_WGMMA_SS(T, TYPE, 96, 12, 48, 49, 50) \
  WB_WGMMA_SS(T, TYPE, 112, 14, 56, 57, 58) \
  WB_WGMMA_SS(T, TYPE, 160, 20, 80, 81, 82) \
  WB_WGMMA_RS(T, TYPE, 72, 9, 36, 37, 38, 39, 40, 41) \
  WB_WGMMA_RS(T, TYPE, 80, 10, 40, 41, 42, 43, 44, 45) \
  WB_WGMMA_RS(T, TYPE, 88, 11, 44, 45, 46, 47, 48, 49) \
  WB_WGMMA_RS(T, TYPE, 96, 12, 48, 49, 50, 51, 52, 53) \
  WB_WGMMA_RS(T, TYPE, 160, 20, 80, 81, 82, 83, 84, 85) \
  WB_WGMMA_RS(T, TYPE, 192, 24, 96, 97, 98, 99, 100, 101) \
  WB_WGMMA_RS(T, TYPE, 256, 32, 128, 129, 130, 131, 132, 133) \
  WB_WGMMA_SS_MN_256(T, TYPE)
WB_WGMMA_OF(__half, "f16")
WB_WGMMA_OF(__nv_bfloat16, "bf16")
#undef WB_D_9
#undef WB_R_9
#undef WB_D_10
#undef WB_R_10
#undef WB_D_11
#undef WB_R_11
#undef WB_D_12
#undef WB_R_12
#undef WB_D_14
#undef WB_R_14
#undef WB_D_20
#undef WB_R_20
#undef WB_D_24
#undef WB_R_24
#undef WB_D_32
#undef WB_R_32
#undef WB_D
#undef WB_WGMMA_SS
#undef WB_WGMMA_RS
#undef WB_WGMMA_SS_MN_256
#undef WB_WGMMA_OF
// clang-format on

}  // namespace wb::gpu
