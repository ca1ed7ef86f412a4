// SPDX-License-Identifier: MIT
// A warpgroup's tile of 64 rows of 16-bit elements in shared memory, in slabs of 64 columns with
// TMA's swizzle (tma.cuh): Q negated in place, and, where Q has been read, O through the same tile
// and out. A "unit" is 16 bytes, 8 columns. Included by sm90_wgmma_carry and
// sm90_wgmma_pingpong (by prefill_epilogue.cuh), sm90_wgmma_wide and sm90_wgmma_flash.
#pragma once

#include "sm80/mma.cuh"
#include "sm90/warpgroup.cuh"

#include <cstdint>

namespace wb::gpu {

__device__ __forceinline__ unsigned char* swizzled_unit(unsigned char* tile, int row, int unit) {
  return tile + (unit / 8) * (64 * 128) + row * 128 + ((unit % 8 ^ (row & 7)) << 4);
}

// `half` 0 or 1 of a thread's two rows of O, 8 N columns from first_unit on, times `inverse`. pair:
// lane % 4.
template <typename T, int N>
__device__ __forceinline__ void row_to_smem(const float (&o)[N][4], int half, float inverse,
                                            unsigned char* tile, int row, int first_unit,
                                            int pair) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
    *reinterpret_cast<uint32_t*>(swizzled_unit(tile, row, first_unit + n) + 4 * pair) =
        pack2<T>(o[n][2 * half] * inverse, o[n][2 * half + 1] * inverse);
  }
}

// A warp's 16 staged rows out in 16-byte pieces, Units of a row from first_unit on. P: out, so (in
// elements), seq_q, dim_v.
template <typename T, int Units, class P>
__device__ __forceinline__ void rows_to_global(const P& p, unsigned char* tile, int batch, int head,
                                               int first_row, int first_unit, int warp, int lane) {
  T* out = static_cast<T*>(p.out) + batch * p.so.batch + head * p.so.head;
#pragma unroll 4
  for (int e = lane; e < 16 * Units; e += 32) {
    const int row = warp * 16 + e / Units, unit = first_unit + e % Units;
    if (first_row + row >= p.seq_q || unit * 8 >= p.dim_v) continue;
    *reinterpret_cast<uint4*>(out + (first_row + row) * p.so.row + unit * 8) =
        *reinterpret_cast<const uint4*>(swizzled_unit(tile, row, unit));
  }
}

// Flips the signs of a tile of Q of Bytes; the warpgroup meets on the named barrier.
template <int Bytes>
__device__ __forceinline__ void negate_query(unsigned char* q_tile, int thread, uint32_t barrier) {
  uint4* words = reinterpret_cast<uint4*>(q_tile);
  for (int i = thread; i < Bytes / 16; i += 128) {
    const uint4 x = words[i];
    words[i] =
        make_uint4(x.x ^ 0x80008000u, x.y ^ 0x80008000u, x.z ^ 0x80008000u, x.w ^ 0x80008000u);
  }
  fence_proxy_async_shared();
  barrier_sync(barrier, 128);
}

}  // namespace wb::gpu
