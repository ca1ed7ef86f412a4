// SPDX-License-Identifier: MIT
// Parameters and shapes of sm90_wgmma_flash, and how Q, K and V get into shared memory. Included by
// wgmma_flash.cuh.
#pragma once

#include "sm80/cp_async.cuh"
#include "sm90/cluster_merge.cuh"
#include "sm90/mbarrier.cuh"
#include "sm90/tma.cuh"

#include <cstdint>

namespace wb::gpu {

struct Params {
  MergeParams merge;
  const void* q;
  wb_strides sq;
  int heads_kv, group, seq_kv, dim;
  int rows;           // seq_q * group: packed rows of one KV head
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  int row_blocks;
  bool negate;       // the scale's sign, folded into Q
  bool whole_rows;   // K and V have the padded head dim: a tile is one box
  float scale_log2;  // magnitude, above zero
  int kept_256;      // 256ths of the keys that the L2 is to keep; 256: no hints
};

// WGS warpgroups of 64 rows, BN keys a step, BPS blocks on an SM. With KS above 1 as many
// warpgroups share 64 rows and take every KS-th step, each from a ring of its own.
template <typename T_, int DP_, int WGS_, int BN_, int STAGES_, int BPS_, int KS_ = 1>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, WGS = WGS_, BN = BN_, STAGES = STAGES_, BPS = BPS_, KS = KS_;
  static_assert(KS == 1 || WGS == 1);
  static constexpr int WK = KS;  // for the merge: so many warps share a row
  static constexpr int k_rows = 64 * WGS;
  static constexpr int k_threads = 128 * WGS * KS;
  static constexpr int k_q_bytes = k_rows * DP * 2;
  static constexpr int k_tile_bytes = BN * DP * 2;
  static constexpr int k_ring = k_q_bytes;  // offsets; K stages, then V stages; KS times
  static constexpr int k_ring_bytes = 2 * STAGES * k_tile_bytes;
  static constexpr int k_partial_stride = DP + 4;
  static constexpr int k_partial_warp = k_rows * k_partial_stride;
  // With split keys the partials, then what peers push, overlay Q and the ring.
  static constexpr int k_merge = (KS * k_partial_warp * 4 + 127) / 128 * 128;
  static constexpr int k_merge_end = k_merge + MergeSmem<Shape>::k_bytes;
  static constexpr int k_ring_end = k_ring + KS * k_ring_bytes;
  static constexpr int k_barriers = k_ring_end > k_merge_end ? k_ring_end : k_merge_end;
  static constexpr int k_smem_bytes = k_barriers + 8 + KS * 32 * STAGES;
  static_assert(BPS * (k_smem_bytes + 1024) <= 228 * 1024);
};

struct Barriers {
  uint32_t full_k, full_v, empty_k, empty_v, merge;
};

// The steps of a warpgroup: `first`, `first` + KS, ..., `count` of them; kept_256 of 256 are read
// for the L2 to keep, the others to leave it first.
struct Steps {
  int first, count, kept_256;
  bool whole_rows;
  uint64_t policy;
};

// Packed Q rows into the swizzled slabs that wgmma reads; rows and columns beyond the end are zero.
template <class S>
__device__ __forceinline__ void load_query(unsigned char* q_smem, const Params& p, int batch,
                                           int head_kv, int first_row) {
  using T = typename S::T;
  constexpr int units = S::DP / 8;
  const uint32_t flip = p.negate ? 0x80008000u : 0u;
#pragma unroll 4
  for (int e = threadIdx.x; e < S::k_rows * units; e += S::k_threads) {
    const int row = e / units, unit = e % units, packed = first_row + row;
    uint4 bits = make_uint4(0u, 0u, 0u, 0u);
    if (packed < p.rows && unit * 8 < p.dim) {
      const int query = packed / p.group, head = head_kv * p.group + packed % p.group;
      bits = __ldg(reinterpret_cast<const uint4*>(static_cast<const T*>(p.q) + batch * p.sq.batch +
                                                  head * p.sq.head + query * p.sq.row + unit * 8));
      bits = make_uint4(bits.x ^ flip, bits.y ^ flip, bits.z ^ flip, bits.w ^ flip);
    }
    // 64 rows of a warpgroup: slabs of 64 columns, lines of 128 bytes
    unsigned char* at = q_smem + (row / 64) * (64 * S::DP * 2) + (unit / 8) * (64 * 128) +
                        (row % 64) * 128 + ((unit % 8 ^ (row & 7)) << 4);
    *reinterpret_cast<uint4*>(at) = bits;
  }
}

template <class S>
__device__ __forceinline__ void load_tile(uint32_t smem, const CUtensorMap* map, uint32_t barrier,
                                          const Steps& steps, int j, int head, int batch) {
  const int step = steps.first + j * S::KS, key = step * S::BN;
  const bool stays = stays_in_l2(step + 37 * head, steps.kept_256);
  mbarrier_arrive_expect_tx(barrier, S::k_tile_bytes);
  if (steps.whole_rows) {
    if (stays) {
      cp_async_bulk_tensor_5d(smem, map, barrier, key, head, batch);
    } else {
      cp_async_bulk_tensor_5d_hint(smem, map, barrier, key, head, batch, steps.policy);
    }
    return;
  }
#pragma unroll
  for (int slab = 0; slab < S::DP / 64; ++slab) {
    const uint32_t to = smem + slab * S::BN * 128;
    if (stays) {
      cp_async_bulk_tensor_4d(to, map, barrier, slab * 64, key, head, batch);
    } else {
      cp_async_bulk_tensor_4d_hint(to, map, barrier, slab * 64, key, head, batch, steps.policy);
    }
  }
}

}  // namespace wb::gpu
