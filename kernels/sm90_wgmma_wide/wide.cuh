// SPDX-License-Identifier: MIT
// The consumer warpgroups of sm90_wgmma_wide, stages as named functions, and the kernel. Idea and
// host part: kernel.cu, its only user.
#pragma once

#include "producer.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/row_store.cuh"
#include "sm90/warpgroup.cuh"
#include "sm90/wgmma.cuh"
#include "sm90/wgmma_widths.cuh"

namespace wb::gpu {

// A warp releases a piece of shared memory to the producer.
__device__ __forceinline__ void release(uint32_t barrier, int lane) {
  if (lane == 0) mbarrier_arrive(barrier);
}

// S = Q K^T, issued; a group for every slab of K.
template <typename T>
__device__ __forceinline__ void gemm_qk(float (&s)[Wide::BN / 8][4], uint32_t base,
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

// Waits for S and releases K slab by slab; Behind groups were committed after it.
template <int Behind>
__device__ __forceinline__ void wait_qk(const Barriers& bar, int lane) {
  static_assert(Wide::k_slabs == 8);
  wgmma_wait_group<Behind + 7>();
  release(bar.empty_k(0), lane);
  wgmma_wait_group<Behind + 6>();
  release(bar.empty_k(1), lane);
  wgmma_wait_group<Behind + 5>();
  release(bar.empty_k(2), lane);
  wgmma_wait_group<Behind + 4>();
  release(bar.empty_k(3), lane);
  wgmma_wait_group<Behind + 3>();
  release(bar.empty_k(4), lane);
  wgmma_wait_group<Behind + 2>();
  release(bar.empty_k(5), lane);
  wgmma_wait_group<Behind + 1>();
  release(bar.empty_k(6), lane);
  wgmma_wait_group<Behind>();
  release(bar.empty_k(7), lane);
}

// Waits for P V and releases V chunk by chunk.
__device__ __forceinline__ void wait_pv(const Barriers& bar, int lane) {
  static_assert(Wide::k_chunks == 4);
  wgmma_wait_group<3>();
  release(bar.empty_v(0), lane);
  wgmma_wait_group<2>();
  release(bar.empty_v(1), lane);
  wgmma_wait_group<1>();
  release(bar.empty_v(2), lane);
  wgmma_wait_group<0>();
  release(bar.empty_v(3), lane);
}

__device__ __forceinline__ uint64_t v_descriptor(uint32_t base, int chunk, int half) {
  return wgmma_descriptor_mn_major(
      base + Wide::k_v + chunk * Wide::k_chunk_bytes + half * 4 * Wide::k_v_slab_bytes,
      Wide::k_v_slab_bytes);
}

// O += P V over the first 256 columns with P in registers, issued; a group for every chunk.
template <typename T>
__device__ __forceinline__ void gemm_pv(float (&o)[32][4], const uint32_t (&prob)[4][4],
                                        uint32_t base, const Barriers& bar, uint32_t parity) {
#pragma unroll
  for (int chunk = 0; chunk < Wide::k_chunks; ++chunk) {
    mbarrier_wait_parity(bar.full_v(chunk), parity);
    wgmma_fence();
    wgmma_rs<T, 32>(o, prob[chunk], v_descriptor(base, chunk, 0));
    wgmma_commit_group();
  }
}

// P and the factors of step j for the other warpgroup, into tile j % 2.
__device__ __forceinline__ void store_p(const uint32_t (&prob)[4][4], const RowState& r,
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
                                           const Params& p, unsigned char* q_tile,
                                           const WorkTile& t, int half_of_columns, int thread) {
  const int warp = thread / 32, lane = thread % 32, quad = lane / 4, pair = lane % 4;
  const int first_unit = 32 * half_of_columns;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * 16 + 8 * half + quad;
    row_to_smem<T>(o, half, inverse[half], q_tile, row, first_unit, pair);
  }
  __syncwarp();
  rows_to_global<T, 32>(p, q_tile, t.batch, t.head, t.first_row, first_unit, warp, lane);
}

// The mainloop of the first warpgroup. Step j: Q K(j) and P(j-1) V(j-1) are issued together; the
// softmax of step j overlaps the latter, and the other warpgroup's product.
template <typename T>
__device__ __forceinline__ void mainloop(float (&o)[32][4], RowState& r, const Params& p,
                                         unsigned char* smem, uint32_t base, const Barriers& bar,
                                         int steps, int thread) {
  const int lane = thread % 32;
  float s[Wide::BN / 8][4];
  uint32_t prob[4][4];
  const auto softmax_step = [&](int j) {
    const int first_key = j * Wide::BN;
    if (first_key + Wide::BN - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
    softmax<Wide::BN / 8>(s, r, p.scale_log2);
  };
  gemm_qk<T>(s, base, bar, 0);
  wait_qk<0>(bar, lane);
  fence_operands(s);
  softmax_step(0);
  pack_probabilities<T>(prob, s);
  store_p(prob, r, smem, 0, thread);
  for (int j = 1; j < steps; ++j) {
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    gemm_qk<T>(s, base, bar, j & 1);
    gemm_pv<T>(o, prob, base, bar, (j & 1) ^ 1);
    wait_qk<Wide::k_chunks>(bar, lane);
    fence_operands(s);
    softmax_step(j);
    wait_pv(bar, lane);
    fence_operands(o);
    fence_operands(prob);
    pack_probabilities<T>(prob, s);
    store_p(prob, r, smem, j, thread);
    rescale(o, r.alpha);
  }
  fence_operands(o);
  fence_operands(prob);
  gemm_pv<T>(o, prob, base, bar, (steps & 1) ^ 1);
  wait_pv(bar, lane);
  fence_operands(o);
}

// The first warpgroup: scores, softmax, and columns 0 to 255 of O.
template <typename T>
__device__ __forceinline__ void consume_first(const Params& p, unsigned char* smem, uint32_t base,
                                              const Barriers& bar, const WorkTile& t, int thread) {
  mbarrier_wait_parity(bar.full_q(), 0);
  if (p.negate) negate_query<Wide::k_slabs * Wide::k_slab_bytes>(smem, thread, k_negated);
  RowState r = init_rows(p, t.first_row, thread);
  float o[32][4];
  clear(o);
  if (t.steps > 0) mainloop<T>(o, r, p, smem, base, bar, t.steps, thread);
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

// The second warpgroup: columns 256 to 511 of O, from the P that the first stores.
template <typename T>
__device__ __forceinline__ void consume_second(const Params& p, unsigned char* smem, uint32_t base,
                                               const Barriers& bar, const WorkTile& t, int thread) {
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
    wait_pv(bar, lane);
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
  const WorkTile t = work_tile_at(p, int(blockIdx.x));
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<40>();
    if (threadIdx.x == 0) {
      produce(p, &map_q, &map_k, &map_v, t, base, bar);
    }
  } else if (warpgroup == 1) {
    setmaxnreg_inc<232>();
    consume_first<T>(p, smem, base, bar, t, threadIdx.x % 128);
  } else {
    setmaxnreg_inc<232>();
    consume_second<T>(p, smem, base, bar, t, threadIdx.x % 128);
  }
}

}  // namespace wb::gpu
