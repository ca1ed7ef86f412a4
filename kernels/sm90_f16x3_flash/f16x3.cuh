// SPDX-License-Identifier: MIT
// Second launch of sm90_f16x3_flash: computing stages as named functions, the kernel. Idea and host
// part: kernel.cu, its only user.
#pragma once

#include "producer.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace wb::gpu {

// to = Q K^T over 32 columns, without the product of the two rests, issued. Tensor cores cut sums
// off instead of rounding them, by an amount that follows the sum's size: so the small terms come
// first, and no more than 32 columns are summed up here. Everything else is added outside.
template <class S>
__device__ __forceinline__ void gemm_qk_part(float (&to)[S::BN / 8][4], uint32_t q_at,
                                             uint32_t k_at, int part) {
  constexpr int rest_q = S::DP / 64 * (64 * 128), rest_k = S::DP / 64 * (S::BN * 128);
#pragma unroll
  for (int term = 0; term < 3; ++term) {
    const uint32_t q = q_at + (term == 1 ? rest_q : 0), k = k_at + (term == 0 ? rest_k : 0);
#pragma unroll
    for (int ks = 2 * part; ks < 2 * part + 2; ++ks) {
      const uint32_t column = ks % 4 * 32;
      wgmma_ss<__half, S::BN / 8>(to, wgmma_descriptor_k_major(q + ks / 4 * (64 * 128) + column),
                                  wgmma_descriptor_k_major(k + ks / 4 * (S::BN * 128) + column),
                                  term > 0 || ks % 2 > 0);
    }
  }
  wgmma_commit_group();
}

template <int N>
__device__ __forceinline__ void add(float (&to)[N][4], const float (&x)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) to[n][c] += x[n][c];
  }
}

// s = Q K^T, complete. While one part is added the next is under way.
template <class S>
__device__ __forceinline__ void gemm_qk(float (&s)[S::BN / 8][4], uint32_t q_at, uint32_t k_at,
                                        int wg) {
  static_assert(S::DP == 64 || S::DP == 128);
  float b[S::BN / 8][4];
  ordered_barrier_wait<S>(wg);
  fence_operands(s);
  wgmma_fence();
  gemm_qk_part<S>(s, q_at, k_at, 0);
  gemm_qk_part<S>(b, q_at, k_at, 1);
  if constexpr (S::DP == 64) {
    ordered_barrier_arrive<S>(wg);
  } else {
    float c[S::BN / 8][4];
    gemm_qk_part<S>(c, q_at, k_at, 2);
    wgmma_wait_group<1>();
    fence_operands(s);
    fence_operands(b);
    add(s, b);
    fence_operands(b);
    wgmma_fence();
    gemm_qk_part<S>(b, q_at, k_at, 3);
    ordered_barrier_arrive<S>(wg);
    wgmma_wait_group<1>();
    fence_operands(c);
    add(s, c);
  }
  wgmma_wait_group<0>();
  fence_operands(s);
  fence_operands(b);
  add(s, b);
}

// part = P V of one step, likewise; the running O is added outside, where sums are rounded.
template <class S>
__device__ __forceinline__ void gemm_pv(float (&part)[S::DP / 8][4],
                                        const uint32_t (&high)[S::BN / 16][4],
                                        const uint32_t (&rest)[S::BN / 16][4], uint32_t v_at) {
  constexpr int rest_v = S::DP / 64 * (S::BN * 128);
#pragma unroll
  for (int term = 0; term < 3; ++term) {
#pragma unroll
    for (int ks = 0; ks < S::BN / 16; ++ks) {
      const uint32_t v = v_at + (term == 0 ? rest_v : 0) + ks * (16 * 128);
      wgmma_rs<__half, S::DP / 8>(part, term == 1 ? rest[ks] : high[ks],
                                  wgmma_descriptor_mn_major(v, S::BN * 128), term + ks > 0);
    }
  }
}

// P's largest element is 2^7: the rest of elements down to 2^-16 of it is then a normal f16 number.
// RowState::m is the running maximum less k_p_exponent, in log2 units.
inline constexpr float k_p_exponent = 7.0f;

// Online softmax: s becomes P (f32), r.alpha the factor that O still has to be given. `scale` takes
// this step's products to log2 units.
template <class S>
__device__ __forceinline__ void softmax(float (&s)[S::BN / 8][4], RowState& r, float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top[2] = {s[0][2 * half], s[0][2 * half + 1]};
#pragma unroll
    for (int n = 1; n < S::BN / 8; ++n) {
      top[0] = fmaxf(top[0], s[n][2 * half]);
      top[1] = fmaxf(top[1], s[n][2 * half + 1]);
    }
    const float largest = quad_max(fmaxf(top[0], top[1]));
    const float m = fmaxf(r.m[half], fmaf(largest, scale, -k_p_exponent));
    const float shift = m == -INFINITY ? 0.0f : m;
    r.alpha[half] = ex2(r.m[half] - shift);
    r.m[half] = m;
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < S::BN / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& x = s[n][2 * half + c];
        x = ex2(fmaf(x, scale, -shift));
        sum[c] += x;
      }
    }
    r.l[half] = r.l[half] * r.alpha[half] + (sum[0] + sum[1]);
  }
}

__device__ __forceinline__ void split_pair(uint32_t& high, uint32_t& rest, float a, float b) {
  high = pack2<__half>(a, b);
  const float2 back = __half22float2(*reinterpret_cast<const __half2*>(&high));
  rest = pack2<__half>(a - back.x, b - back.y);
}

template <class S>
__device__ __forceinline__ void split_probabilities(uint32_t (&high)[S::BN / 16][4],
                                                    uint32_t (&rest)[S::BN / 16][4],
                                                    const float (&s)[S::BN / 8][4]) {
#pragma unroll
  for (int ks = 0; ks < S::BN / 16; ++ks) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const float(&x)[4] = s[2 * ks + c / 2];
      split_pair(high[ks][c], rest[ks][c], x[c % 2 * 2], x[c % 2 * 2 + 1]);
    }
  }
}

// O takes in the product of a step: `alpha` from that step's softmax, `factor` from its V.
template <class S>
__device__ __forceinline__ void rescale_and_add(float (&o)[S::DP / 8][4],
                                                const float (&part)[S::DP / 8][4],
                                                const float (&alpha)[2], float factor) {
#pragma unroll
  for (int n = 0; n < S::DP / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] = fmaf(o[n][c], alpha[c / 2], part[n][c] * factor);
  }
}

// The mainloop: the steps of one tile. The other warpgroup's products run beside this one's
// softmax.
template <class S>
__device__ __forceinline__ void mainloop(float (&o)[S::DP / 8][4], RowState& r, const Params& p,
                                         uint32_t base, const Barriers<S>& bar,
                                         PipelineState<S::STAGES>& k, PipelineState<S::STAGES>& v,
                                         const WorkTile& t, float scale_q, int wg, int lane) {
  const uint32_t q_at = base + wg * S::k_q_bytes;
  const uint32_t k_ring = base + S::k_k_ring, v_ring = base + S::k_v_ring;
  const int64_t head_kv = int64_t(t.batch) * (p.heads_q / p.group) + t.head_kv;
  const float* factors_k = p.factors_k + head_kv * p.key_tiles;
  const float* factors_v = p.factors_v + head_kv * p.key_tiles;
  for (int j = 0; j < t.steps; ++j) {
    const float factor_k = __ldg(factors_k + j), factor_v = __ldg(factors_v + j);
    float s[S::BN / 8][4];
    mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
    gemm_qk<S>(s, q_at, k_ring + k.stage * S::k_tile_bytes, wg);
    __syncwarp();
    if (lane == 0) {
      mbarrier_arrive(bar.empty_k(k.stage));
      if (j == t.steps - 1) mbarrier_arrive(bar.empty_q(wg));
    }
    k.advance();
    const int first_key = j * S::BN;
    if (first_key + S::BN - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
    // Above zero even where the product of the three underflows: -inf times zero would be NaN.
    softmax<S>(s, r, fmaxf(scale_q * factor_k, 0x1p-126f));
    uint32_t high[S::BN / 16][4], rest[S::BN / 16][4];
    split_probabilities<S>(high, rest, s);

    float part[S::DP / 8][4];
    mbarrier_wait_parity(bar.full_v(v.stage), v.phase);
    ordered_barrier_wait<S>(wg);
    fence_operands(high);
    fence_operands(rest);
    wgmma_fence();
    gemm_pv<S>(part, high, rest, v_ring + v.stage * S::k_tile_bytes);
    wgmma_commit_group();
    ordered_barrier_arrive<S>(wg);
    wgmma_wait_group<0>();
    fence_operands(part);
    __syncwarp();
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
    v.advance();
    rescale_and_add<S>(o, part, r.alpha, factor_v);
  }
}

// Four lanes hold 32 bytes of a row: whole sectors, so O goes out from the registers.
template <class S>
__device__ __forceinline__ void store_rows(const float (&o)[S::DP / 8][4], const RowState& r,
                                           const Params& p, const WorkTile& t, int first_row,
                                           int thread) {
  const int lane = thread % 32;
  float* out = p.out + t.batch * p.so.batch + t.head * p.so.head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + thread / 32 * 16 + 8 * half + lane / 4;
    if (row >= p.seq_q) continue;
    const float l = r.l[half], inverse = l > 0.0f ? 1.0f / l : 0.0f;  // no key: zeros
    float* line = out + row * p.so.row + 2 * (lane % 4);
#pragma unroll
    for (int n = 0; n < S::DP / 8; ++n) {
      const float2 x = make_float2(o[n][2 * half] * inverse, o[n][2 * half + 1] * inverse);
      const int d = 8 * n + 2 * (lane % 4);
      if (p.vector_stores) {
        if (d < p.dim_v) *reinterpret_cast<float2*>(line + 8 * n) = x;
      } else {
        if (d < p.dim_v) line[8 * n] = x.x;
        if (d + 1 < p.dim_v) line[8 * n + 1] = x.y;
      }
    }
    if (p.lse != nullptr && lane % 4 == 0) {
      p.lse[(int64_t(t.batch) * p.heads_q + t.head) * p.seq_q + row] =
          l > 0.0f ? r.m[half] * k_ln_2 + logf(l) : -INFINITY;
    }
  }
}

// A consumer warpgroup: its 64 rows of every work tile of the block.
template <class S>
__device__ __forceinline__ void consume(const Params& p, unsigned char* smem, uint32_t base,
                                        const Barriers<S>& bar, int wg) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const volatile int* work_indices = reinterpret_cast<const int*>(smem + S::k_work_indices);
  const int row_tiles = (p.seq_q + 63) / 64;
  PipelineState<S::STAGES> k, v;
  if (wg == S::WGS - 1) ordered_barrier_arrive<S>(wg);  // warpgroup 0 is let in first
  for (uint32_t phase_q = 0;; phase_q ^= 1) {
    mbarrier_wait_parity(bar.full_q(wg), phase_q);
    // Read by the lane that will release the buffer.
    const int index = __shfl_sync(~0u, lane == 0 ? work_indices[wg] : 0, 0);
    if (index < 0) break;
    const WorkTile t = work_tile_at<S>(p, index);
    const int first_row = t.first_row + 64 * wg;
    RowState r = init_rows(p, first_row, thread);
    float o[S::DP / 8][4];
    clear(o);
    if (t.steps > 0) {
      const int row_tile = min(first_row / 64, row_tiles - 1);
      const int64_t head = int64_t(t.batch) * p.heads_q + t.head;
      const float scale_q = p.scale_log2 * __ldg(p.factors_q + head * row_tiles + row_tile);
      mainloop<S>(o, r, p, base, bar, k, v, t, scale_q, wg, lane);
    } else {
      __syncwarp();
      if (lane == 0) mbarrier_arrive(bar.empty_q(wg));
    }
    reduce_row_sums(r);
    store_rows<S>(o, r, p, t, first_row, thread);
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, 1)
    f16x3_flash(const __grid_constant__ CUtensorMap map_q,
                const __grid_constant__ CUtensorMap map_k,
                const __grid_constant__ CUtensorMap map_v, const Params p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const Barriers<S> bar = {base + S::k_barriers};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::STAGES; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_k(i), 4 * S::WGS);
      mbarrier_init(bar.empty_v(i), 4 * S::WGS);
    }
    for (int i = 0; i < S::WGS; ++i) {
      mbarrier_init(bar.full_q(i), 1);
      mbarrier_init(bar.empty_q(i), 4);
    }
    fence_mbarrier_init();
    prefetch_tensormap(&map_q);
    prefetch_tensormap(&map_k);
    prefetch_tensormap(&map_v);
  }
#if EARLY_START
  griddepcontrol_wait();
#endif
  __syncthreads();
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<40>();
    if (threadIdx.x == 0) produce<S>(p, &map_q, &map_k, &map_v, smem, base, bar);
  } else {
    setmaxnreg_inc<232>();
    consume<S>(p, smem, base, bar, warpgroup - 1);
  }
}

}  // namespace wb::gpu
