// SPDX-License-Identifier: MIT
// The device part of sm90_wgmma_wide: layout, stages as named functions, the kernel. Idea and host
// part: kernel.cu, its only user.
#pragma once

#include "mbarrier.cuh"
#include "mma.cuh"
#include "sdpa_abi.h"
#include "tma.cuh"
#include "warpgroup.cuh"
#include "wgmma.cuh"
#include "wgmma_widths.cuh"

#include <cmath>
#include <cstdint>

namespace wb::gpu {

struct Params {
  void* out;
  float* lse;
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= q + offset; seq_kv without a causal rule
  int row_blocks;     // of a head
  bool negate;        // the scale's sign, folded into Q
  float scale_log2;   // magnitude, above zero
};

// A block has 64 rows; a step is 64 keys. K lies in eight slabs of 64 columns, V in four chunks of
// 16 keys: each is loaded, waited for and given back on its own.
struct Wide {
  static constexpr int DP = 512, BN = 64, k_rows = 64, k_threads = 384;
  static constexpr int k_slabs = DP / 64, k_chunks = BN / 16;
  static constexpr int k_slab_bytes = 64 * 128;    // of Q, K and P
  static constexpr int k_v_slab_bytes = 16 * 128;  // 16 keys, 64 columns
  static constexpr int k_chunk_bytes = k_slabs * k_v_slab_bytes;
  static constexpr int k_k = k_slabs * k_slab_bytes;  // offsets, behind Q
  static constexpr int k_v = k_k + k_slabs * k_slab_bytes;
  static constexpr int k_p = k_v + k_chunks * k_chunk_bytes;  // two tiles of P
  static constexpr int k_alpha = k_p + 2 * k_slab_bytes;      // float[2][64], then float[64]
  static constexpr int k_barriers = k_alpha + 3 * 64 * 4;
  static constexpr int k_smem_bytes = k_barriers + 256;
  static_assert(k_smem_bytes <= 227 * 1024);
};

struct Barriers {
  uint32_t base;
  __device__ uint32_t full_q() const { return base; }
  __device__ uint32_t full_k(int slab) const { return base + 8 * (1 + slab); }
  __device__ uint32_t empty_k(int slab) const { return base + 8 * (1 + Wide::k_slabs + slab); }
  __device__ uint32_t full_v(int chunk) const { return base + 8 * (1 + 2 * Wide::k_slabs + chunk); }
  __device__ uint32_t empty_v(int chunk) const {
    return base + 8 * (1 + 2 * Wide::k_slabs + Wide::k_chunks + chunk);
  }
};

// Named barriers between the two computing warpgroups, all of 256 threads; + the tile of P.
inline constexpr uint32_t k_p_full = 1, k_p_empty = 3, k_rows_done = 5, k_negated = 6;

struct Tile {
  int batch, head, first_row, steps;
};

// Blocks of a head follow each other, those with more keys first.
__device__ __forceinline__ Tile tile_at(const Params& p, int block) {
  const int head = block / p.row_blocks;
  Tile t;
  t.batch = head / p.heads_q;
  t.head = head % p.heads_q;
  t.first_row = (p.row_blocks - 1 - block % p.row_blocks) * Wide::k_rows;
  const int last_query = min(t.first_row + Wide::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  t.steps = (keys + Wide::BN - 1) / Wide::BN;
  return t;
}

// The loading thread: Q, then K one step ahead of V, the order in which they are read.
__device__ __forceinline__ void feed(const Params& p, const CUtensorMap* map_q,
                                     const CUtensorMap* map_k, const CUtensorMap* map_v,
                                     const Tile& t, uint32_t base, const Barriers& bar) {
  const int head_kv = t.head / p.group;
  mbarrier_arrive_expect_tx(bar.full_q(), Wide::k_slabs * Wide::k_slab_bytes);
  for (int slab = 0; slab < Wide::k_slabs; ++slab) {
    cp_async_bulk_tensor_4d(base + slab * Wide::k_slab_bytes, map_q, bar.full_q(), 64 * slab,
                            t.first_row, t.head, t.batch);
  }
  const auto load_k = [&](int step) {
    for (int slab = 0; slab < Wide::k_slabs; ++slab) {
      mbarrier_wait_parity(bar.empty_k(slab), (step & 1) ^ 1);
      mbarrier_arrive_expect_tx(bar.full_k(slab), Wide::k_slab_bytes);
      cp_async_bulk_tensor_4d(base + Wide::k_k + slab * Wide::k_slab_bytes, map_k, bar.full_k(slab),
                              64 * slab, step * Wide::BN, head_kv, t.batch);
    }
  };
  if (t.steps > 0) load_k(0);
  for (int step = 0; step < t.steps; ++step) {
    if (step + 1 < t.steps) load_k(step + 1);
    for (int chunk = 0; chunk < Wide::k_chunks; ++chunk) {
      mbarrier_wait_parity(bar.empty_v(chunk), (step & 1) ^ 1);
      mbarrier_arrive_expect_tx(bar.full_v(chunk), Wide::k_chunk_bytes);
      for (int slab = 0; slab < Wide::k_slabs; ++slab) {
        cp_async_bulk_tensor_4d(
            base + Wide::k_v + chunk * Wide::k_chunk_bytes + slab * Wide::k_v_slab_bytes, map_v,
            bar.full_v(chunk), 64 * slab, step * Wide::BN + 16 * chunk, head_kv, t.batch);
      }
    }
  }
}

// A warp gives a piece of shared memory back.
__device__ __forceinline__ void give_back(uint32_t barrier, int lane) {
  if (lane == 0) mbarrier_arrive(barrier);
}

// S = Q K^T, issued; a group for every slab of K.
template <typename T>
__device__ __forceinline__ void score(float (&s)[Wide::BN / 8][4], uint32_t base,
                                      const Barriers& bar, uint32_t parity) {
#pragma unroll
  for (int slab = 0; slab < Wide::k_slabs; ++slab) {
    mbarrier_wait_parity(bar.full_k(slab), parity);
    wgmma_fence();
    // Opaque, or the compiler keeps the descriptors of all slabs in registers, and spills.
    uint32_t slab_at = base + slab * Wide::k_slab_bytes;
    asm volatile("" : "+r"(slab_at));
#pragma unroll
    for (int ks = 0; ks < 4; ++ks) {
      const uint32_t at = slab_at + ks * 32;
      wgmma_ss<T, Wide::BN / 8>(s, wgmma_descriptor_k_major(at),
                                wgmma_descriptor_k_major(at + Wide::k_k), slab + ks > 0);
    }
    wgmma_commit_group();
  }
}

// Waits for S and gives K back slab by slab; Behind groups were committed after it.
template <int Behind>
__device__ __forceinline__ void await_scores(const Barriers& bar, int lane) {
  static_assert(Wide::k_slabs == 8);
  wgmma_wait_group<Behind + 7>();
  give_back(bar.empty_k(0), lane);
  wgmma_wait_group<Behind + 6>();
  give_back(bar.empty_k(1), lane);
  wgmma_wait_group<Behind + 5>();
  give_back(bar.empty_k(2), lane);
  wgmma_wait_group<Behind + 4>();
  give_back(bar.empty_k(3), lane);
  wgmma_wait_group<Behind + 3>();
  give_back(bar.empty_k(4), lane);
  wgmma_wait_group<Behind + 2>();
  give_back(bar.empty_k(5), lane);
  wgmma_wait_group<Behind + 1>();
  give_back(bar.empty_k(6), lane);
  wgmma_wait_group<Behind>();
  give_back(bar.empty_k(7), lane);
}

// Waits for P V and gives V back chunk by chunk.
__device__ __forceinline__ void await_product(const Barriers& bar, int lane) {
  static_assert(Wide::k_chunks == 4);
  wgmma_wait_group<3>();
  give_back(bar.empty_v(0), lane);
  wgmma_wait_group<2>();
  give_back(bar.empty_v(1), lane);
  wgmma_wait_group<1>();
  give_back(bar.empty_v(2), lane);
  wgmma_wait_group<0>();
  give_back(bar.empty_v(3), lane);
}

__device__ __forceinline__ uint64_t v_descriptor(uint32_t base, int chunk, int half) {
  return wgmma_descriptor_mn_major(
      base + Wide::k_v + chunk * Wide::k_chunk_bytes + half * 4 * Wide::k_v_slab_bytes,
      Wide::k_v_slab_bytes);
}

// O += P V over the first 256 columns with P in registers, issued; a group for every chunk.
template <typename T>
__device__ __forceinline__ void accumulate(float (&o)[32][4], const uint32_t (&prob)[4][4],
                                           uint32_t base, const Barriers& bar, uint32_t parity) {
#pragma unroll
  for (int chunk = 0; chunk < Wide::k_chunks; ++chunk) {
    mbarrier_wait_parity(bar.full_v(chunk), parity);
    wgmma_fence();
    wgmma_rs<T, 32>(o, prob[chunk], v_descriptor(base, chunk, 0));
    wgmma_commit_group();
  }
}

struct RowState {
  float m[2], l[2], alpha[2];
  int limit[2];     // last key that rows g and g + 8 may see
  int least_limit;  // of the block's rows: steps below it need no mask
};

__device__ __forceinline__ RowState start_rows(const Params& p, int first_row, int thread) {
  RowState r;
  r.least_limit = min(p.seq_kv - 1, first_row + p.causal_offset);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    r.m[half] = -INFINITY;
    r.l[half] = 0.0f;
    const int row = first_row + thread / 32 * 16 + 8 * half + thread % 32 / 4;
    r.limit[half] = min(p.seq_kv - 1, row + p.causal_offset);
  }
  return r;
}

__device__ __forceinline__ void mask_scores(float (&s)[Wide::BN / 8][4], const RowState& r,
                                            int first_key, int lane) {
#pragma unroll
  for (int n = 0; n < Wide::BN / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (first_key + 8 * n + 2 * (lane % 4) + c % 2 > r.limit[c / 2]) s[n][c] = -INFINITY;
    }
  }
}

// Online softmax: s becomes P (f32), r.alpha the factor that O still has to be given.
__device__ __forceinline__ void softmax(float (&s)[Wide::BN / 8][4], RowState& r,
                                        float scale_log2) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top[2] = {r.m[half], s[0][2 * half]};
#pragma unroll
    for (int n = 0; n < Wide::BN / 8; ++n) {
      top[0] = fmaxf(top[0], s[n][2 * half]);
      top[1] = fmaxf(top[1], s[n][2 * half + 1]);
    }
    top[0] = fmaxf(top[0], top[1]);
    top[0] = fmaxf(top[0], __shfl_xor_sync(~0u, top[0], 1));
    top[0] = fmaxf(top[0], __shfl_xor_sync(~0u, top[0], 2));
    const float shift = top[0] == -INFINITY ? 0.0f : top[0] * scale_log2;
    // A difference first: exactly 1 while the maximum stands, else the error would compound.
    r.alpha[half] = top[0] == -INFINITY ? 0.0f : ex2((r.m[half] - top[0]) * scale_log2);
    r.m[half] = top[0];
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < Wide::BN / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& x = s[n][2 * half + c];
        x = ex2(x * scale_log2 - shift);
        sum[c] += x;
      }
    }
    r.l[half] = r.l[half] * r.alpha[half] + (sum[0] + sum[1]);
  }
}

template <typename T>
__device__ __forceinline__ void pack_probabilities(uint32_t (&prob)[4][4],
                                                   const float (&s)[Wide::BN / 8][4]) {
#pragma unroll
  for (int ks = 0; ks < 4; ++ks) {
    prob[ks][0] = pack2<T>(s[2 * ks][0], s[2 * ks][1]);
    prob[ks][1] = pack2<T>(s[2 * ks][2], s[2 * ks][3]);
    prob[ks][2] = pack2<T>(s[2 * ks + 1][0], s[2 * ks + 1][1]);
    prob[ks][3] = pack2<T>(s[2 * ks + 1][2], s[2 * ks + 1][3]);
  }
}

__device__ __forceinline__ void rescale(float (&o)[32][4], const float (&alpha)[2]) {
#pragma unroll
  for (int n = 0; n < 32; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] *= alpha[c / 2];
  }
}

// P and the factors of step j for the other warpgroup, into tile j % 2.
__device__ __forceinline__ void hand_over(const uint32_t (&prob)[4][4], const RowState& r,
                                          unsigned char* smem, int j, int thread) {
  const int tile = j & 1, lane = thread % 32;
  if (j >= 2) barrier_sync(k_p_empty + tile, 256);
  const int row = thread / 32 * 16 + lane / 4;  // and 8 further on, with the same swizzle
  unsigned char* p_tile = smem + Wide::k_p + tile * Wide::k_slab_bytes + row * 128 + lane % 4 * 4;
#pragma unroll
  for (int ks = 0; ks < 4; ++ks) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int unit = (2 * ks + c / 2) ^ (row & 7);
      *reinterpret_cast<uint32_t*>(p_tile + c % 2 * (8 * 128) + unit * 16) = prob[ks][c];
    }
  }
  if (lane % 4 == 0) {
    float* alpha = reinterpret_cast<float*>(smem + Wide::k_alpha) + tile * 64;
    alpha[row] = r.alpha[0];
    alpha[row + 8] = r.alpha[1];
  }
  fence_proxy_async_shared();
  barrier_arrive(k_p_full + tile, 256);
}

// 256 columns of O through their part of the Q tile, then out in 16-byte pieces.
template <typename T>
__device__ __forceinline__ void store_rows(const float (&o)[32][4], const float (&inverse)[2],
                                           const Params& p, unsigned char* q_tile, const Tile& t,
                                           int half_of_columns, int thread) {
  const int warp = thread / 32, lane = thread % 32, quad = lane / 4, pair = lane % 4;
  const auto at = [&](int row, int unit) {
    return q_tile + unit / 8 * Wide::k_slab_bytes + row * 128 + ((unit % 8 ^ (row & 7)) << 4);
  };
  const int first_unit = 32 * half_of_columns;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * 16 + 8 * half + quad;
#pragma unroll
    for (int n = 0; n < 32; ++n) {
      *reinterpret_cast<uint32_t*>(at(row, first_unit + n) + 4 * pair) =
          pack2<T>(o[n][2 * half] * inverse[half], o[n][2 * half + 1] * inverse[half]);
    }
  }
  __syncwarp();
  T* out = static_cast<T*>(p.out) + t.batch * p.so.batch + t.head * p.so.head;
#pragma unroll 4
  for (int e = lane; e < 16 * 32; e += 32) {
    const int row = warp * 16 + e / 32, unit = first_unit + e % 32;
    if (t.first_row + row >= p.seq_q || unit * 8 >= p.dim_v) continue;
    *reinterpret_cast<uint4*>(out + (t.first_row + row) * p.so.row + unit * 8) =
        *reinterpret_cast<const uint4*>(at(row, unit));
  }
}

template <typename T>
__device__ __forceinline__ void negate_query(unsigned char* q_tile, int thread) {
  uint4* words = reinterpret_cast<uint4*>(q_tile);
  for (int i = thread; i < Wide::k_slabs * Wide::k_slab_bytes / 16; i += 128) {
    const uint4 x = words[i];
    words[i] =
        make_uint4(x.x ^ 0x80008000u, x.y ^ 0x80008000u, x.z ^ 0x80008000u, x.w ^ 0x80008000u);
  }
  fence_proxy_async_shared();
  barrier_sync(k_negated, 128);
}

__device__ __forceinline__ void clear(float (&o)[32][4]) {
#pragma unroll
  for (int n = 0; n < 32; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] = 0.0f;
  }
}

// The steps of the first warpgroup. Step j: Q K(j) and P(j-1) V(j-1) are issued together; the
// softmax of step j overlaps the latter, and the other warpgroup's product.
template <typename T>
__device__ __forceinline__ void walk_keys(float (&o)[32][4], RowState& r, const Params& p,
                                          unsigned char* smem, uint32_t base, const Barriers& bar,
                                          int steps, int thread) {
  const int lane = thread % 32;
  float s[Wide::BN / 8][4];
  uint32_t prob[4][4];
  const auto weigh = [&](int j) {
    const int first_key = j * Wide::BN;
    if (first_key + Wide::BN - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
    softmax(s, r, p.scale_log2);
  };
  score<T>(s, base, bar, 0);
  await_scores<0>(bar, lane);
  fence_operands(s);
  weigh(0);
  pack_probabilities<T>(prob, s);
  hand_over(prob, r, smem, 0, thread);
  for (int j = 1; j < steps; ++j) {
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    score<T>(s, base, bar, j & 1);
    accumulate<T>(o, prob, base, bar, (j & 1) ^ 1);
    await_scores<Wide::k_chunks>(bar, lane);
    fence_operands(s);
    weigh(j);
    await_product(bar, lane);
    fence_operands(o);
    fence_operands(prob);
    pack_probabilities<T>(prob, s);
    hand_over(prob, r, smem, j, thread);
    rescale(o, r.alpha);
  }
  fence_operands(o);
  fence_operands(prob);
  accumulate<T>(o, prob, base, bar, (steps & 1) ^ 1);
  await_product(bar, lane);
  fence_operands(o);
}

// The first warpgroup: scores, softmax, and columns 0 to 255 of O.
template <typename T>
__device__ __forceinline__ void lead(const Params& p, unsigned char* smem, uint32_t base,
                                     const Barriers& bar, const Tile& t, int thread) {
  mbarrier_wait_parity(bar.full_q(), 0);
  if (p.negate) negate_query<T>(smem, thread);
  RowState r = start_rows(p, t.first_row, thread);
  float o[32][4];
  clear(o);
  if (t.steps > 0) walk_keys<T>(o, r, p, smem, base, bar, t.steps, thread);
  float* inverses = reinterpret_cast<float*>(smem + Wide::k_alpha) + 2 * 64;
  float inverse[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float l = r.l[half];
    l += __shfl_xor_sync(~0u, l, 1);
    l += __shfl_xor_sync(~0u, l, 2);
    inverse[half] = l > 0.0f ? 1.0f / l : 0.0f;  // no key: zeros
    const int row = thread / 32 * 16 + 8 * half + thread % 32 / 4;
    if (thread % 4 == 0) {
      inverses[row] = inverse[half];
      if (p.lse != nullptr && t.first_row + row < p.seq_q) {
        p.lse[(int64_t(t.batch) * p.heads_q + t.head) * p.seq_q + t.first_row + row] =
            l > 0.0f ? r.m[half] * p.scale_log2 * k_ln_2 + logf(l) : -INFINITY;
      }
    }
  }
  barrier_sync(k_rows_done, 256);
  store_rows<T>(o, inverse, p, smem, t, 0, thread);
}

// The second warpgroup: columns 256 to 511 of O, from the P that the first hands over.
template <typename T>
__device__ __forceinline__ void follow(const Params& p, unsigned char* smem, uint32_t base,
                                       const Barriers& bar, const Tile& t, int thread) {
  const int lane = thread % 32, row = thread / 32 * 16 + lane / 4;
  const float* kept = reinterpret_cast<const float*>(smem + Wide::k_alpha);
  float o[32][4];
  clear(o);
  for (int j = 0; j < t.steps; ++j) {
    const int tile = j & 1;
    barrier_sync(k_p_full + tile, 256);
    const float alpha[2] = {kept[tile * 64 + row], kept[tile * 64 + row + 8]};
    rescale(o, alpha);
    fence_operands(o);
    const uint32_t p_at = base + Wide::k_p + tile * Wide::k_slab_bytes;
#pragma unroll
    for (int chunk = 0; chunk < Wide::k_chunks; ++chunk) {
      mbarrier_wait_parity(bar.full_v(chunk), j & 1);
      wgmma_fence();
      wgmma_ss_mn_256<T>(o, wgmma_descriptor_k_major(p_at + chunk * 32),
                         v_descriptor(base, chunk, 1));
      wgmma_commit_group();
    }
    await_product(bar, lane);
    fence_operands(o);
    barrier_arrive(k_p_empty + tile, 256);
  }
  barrier_sync(k_rows_done, 256);
  const float inverse[2] = {kept[2 * 64 + row], kept[2 * 64 + row + 8]};
  store_rows<T>(o, inverse, p, smem, t, 1, thread);
}

template <typename T>
__global__ void __launch_bounds__(Wide::k_threads, 1)
    wgmma_wide(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
               const __grid_constant__ CUtensorMap map_v, const Params p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const Barriers bar = {base + Wide::k_barriers};
  if (threadIdx.x == 0) {
    mbarrier_init(bar.full_q(), 1);
    for (int i = 0; i < Wide::k_slabs; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.empty_k(i), 4);
    }
    for (int i = 0; i < Wide::k_chunks; ++i) {
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_v(i), 8);
    }
    fence_mbarrier_init();
    prefetch_tensormap(&map_q);
    prefetch_tensormap(&map_k);
    prefetch_tensormap(&map_v);
  }
  __syncthreads();
  const Tile t = tile_at(p, int(blockIdx.x));
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<40>();
    if (threadIdx.x == 0) {
      feed(p, &map_q, &map_k, &map_v, t, base, bar);
    }
  } else if (warpgroup == 1) {
    setmaxnreg_inc<232>();
    lead<T>(p, smem, base, bar, t, threadIdx.x % 128);
  } else {
    setmaxnreg_inc<232>();
    follow<T>(p, smem, base, bar, t, threadIdx.x % 128);
  }
}

}  // namespace wb::gpu
