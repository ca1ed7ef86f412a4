// SPDX-License-Identifier: MIT
// The device part of sm80_mma_flash: shapes, stages as named functions, the kernel. Idea and host
// part: kernel.cu, its only user.
#pragma once

#include "row_loads.cuh"
#include "sdpa_abi.h"
#include "sm80/cp_async.cuh"
#include "sm80/mma.cuh"
#include "sm90/griddepcontrol.cuh"

#include <cmath>
#include <cstdint>

#ifndef EARLY_START  // start while the previous kernel drains: 0 never, 1 where it pays, 2 always
#define EARLY_START 1
#endif

namespace wb::gpu {

struct Params {
  const void* q;
  const void* k;
  const void* v;
  void* out;
  float* lse;
  wb_strides sq, sk, sv, so;
  int heads_q, group, seq_q, seq_kv, dim, dim_v;
  int causal_offset;  // a row keeps key <= q + offset; seq_kv without a causal rule
  int row_blocks;
  RowIo io;
  bool negate;       // the scale's sign, folded into Q
  float scale_log2;  // magnitude, above zero
};

// A warp owns MW x 16 rows and KW keys of every tile; WM warps along the rows, WN along the keys.
template <typename T_, int DP_, int MW_, int WM_, int WN_, int KW_, int STAGES_, int BPS_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, MW = MW_, WM = WM_, WN = WN_, KW = KW_, STAGES = STAGES_;
  static constexpr int BPS = BPS_;
  // Q stays in registers unless O and S leave no room for it; then it is read again every tile.
  static constexpr bool k_keep_q = DP <= 128;
  static constexpr int k_rows = 16 * MW * WM;
  static constexpr int k_keys = KW * WN;
  static constexpr int k_threads = 32 * WM * WN;
  static constexpr int k_line = DP * 2;  // bytes of a row in shared memory
  static constexpr int k_q_bytes = k_rows * k_line;
  static constexpr int k_tile_bytes = k_keys * k_line;
  static constexpr int k_stage_bytes = 2 * k_tile_bytes;
  static constexpr int k_partial_stride = DP + 4;
  static constexpr int k_merge_bytes = WN > 1 ? WN* k_rows*(k_partial_stride * 4 + 8) : 0;
  static constexpr int k_ring_bytes =
      STAGES * k_stage_bytes > k_merge_bytes ? STAGES* k_stage_bytes : k_merge_bytes;
  static constexpr int k_smem_bytes = k_q_bytes + k_ring_bytes;
};

template <class S>
struct WarpState {
  uint32_t q[S::MW][S::k_keep_q ? S::DP / 16 : 1][4];
  float o[S::MW][S::DP / 8][4];
  float m[S::MW][2], l[S::MW][2];  // rows g and g + 8: running max (unscaled), this lane's sum
};

template <class S>
__device__ __forceinline__ void load_query_step(uint32_t (&q)[4], uint32_t q_at, int row, int ks,
                                                int lane, bool negate) {
  ldmatrix_x4(q, unit_at<S::k_line>(q_at, row + lane % 16, 2 * ks + lane / 16));
  const uint32_t flip = negate ? 0x80008000u : 0u;
#pragma unroll
  for (int c = 0; c < 4; ++c) q[c] ^= flip;
}

template <class S>
__device__ __forceinline__ void init_rows(WarpState<S>& w, uint32_t q_at, int warp_row, int lane,
                                          bool negate) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
    if constexpr (S::k_keep_q) {
#pragma unroll
      for (int ks = 0; ks < S::DP / 16; ++ks) {
        load_query_step<S>(w.q[i][ks], q_at, warp_row + 16 * i, ks, lane, negate);
      }
    }
#pragma unroll
    for (int n = 0; n < S::DP / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) w.o[i][n][c] = 0.0f;
    }
    w.m[i][0] = w.m[i][1] = -INFINITY;
    w.l[i][0] = w.l[i][1] = 0.0f;
  }
}

// S = Q K^T over this warp's KW keys.
template <class S>
__device__ __forceinline__ void gemm_qk(float (&s)[S::MW][S::KW / 8][4], WarpState<S>& w,
                                        uint32_t q_at, int warp_row, uint32_t k_at, int warp_key,
                                        int lane, bool negate) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int n = 0; n < S::KW / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) s[i][n][c] = 0.0f;
    }
  }
#pragma unroll
  for (int ks = 0; ks < S::DP / 16; ++ks) {
    const int kq = S::k_keep_q ? ks : 0;
    if constexpr (!S::k_keep_q) {
#pragma unroll
      for (int i = 0; i < S::MW; ++i) {
        load_query_step<S>(w.q[i][0], q_at, warp_row + 16 * i, ks, lane, negate);
      }
    }
#pragma unroll
    for (int n = 0; n < S::KW / 16; ++n) {
      // keys 0-7 | k 0-7, keys 0-7 | k 8-15, keys 8-15 | k 0-7, keys 8-15 | k 8-15
      const int row = warp_key + 16 * n + lane % 8 + lane / 16 * 8;
      uint32_t b[4];
      ldmatrix_x4(b, unit_at<S::k_line>(k_at, row, 2 * ks + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < S::MW; ++i) {
        mma_m16n8k16<typename S::T>(s[i][2 * n], w.q[i][kq], b[0], b[1]);
        mma_m16n8k16<typename S::T>(s[i][2 * n + 1], w.q[i][kq], b[2], b[3]);
      }
    }
  }
}

template <class S>
__device__ __forceinline__ void mask_scores(float (&s)[S::MW][S::KW / 8][4], const Params& p,
                                            int first_query, int first_key, int lane) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first_query + 16 * i + lane / 4 + 8 * half;
      const int limit = min(p.seq_kv - 1, query + p.causal_offset);
#pragma unroll
      for (int n = 0; n < S::KW / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          if (first_key + 8 * n + 2 * (lane % 4) + c > limit) s[i][n][2 * half + c] = -INFINITY;
        }
      }
    }
  }
}

// Online softmax; s becomes P (f32), O is rescaled.
template <class S>
__device__ __forceinline__ void softmax(float (&s)[S::MW][S::KW / 8][4], WarpState<S>& w,
                                        float scale_log2) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = w.m[i][half];
#pragma unroll
      for (int n = 0; n < S::KW / 8; ++n) {
        top = fmaxf(top, fmaxf(s[i][n][2 * half], s[i][n][2 * half + 1]));
      }
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      const float shift = top == -INFINITY ? 0.0f : top * scale_log2;
      // A difference first: exactly 1 while the maximum stands, else the error would compound.
      const float alpha = top == -INFINITY ? 0.0f : ex2((w.m[i][half] - top) * scale_log2);
      w.m[i][half] = top;
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < S::KW / 8; ++n) {
#pragma unroll
        for (int c = 2 * half; c < 2 * half + 2; ++c) {
          s[i][n][c] = ex2(s[i][n][c] * scale_log2 - shift);
          sum += s[i][n][c];
        }
      }
      w.l[i][half] = w.l[i][half] * alpha + sum;
#pragma unroll
      for (int n = 0; n < S::DP / 8; ++n) {
        w.o[i][n][2 * half] *= alpha;
        w.o[i][n][2 * half + 1] *= alpha;
      }
    }
  }
}

// O += P V over this warp's keys.
template <class S>
__device__ __forceinline__ void gemm_pv(WarpState<S>& w, const float (&s)[S::MW][S::KW / 8][4],
                                        uint32_t v_at, int warp_key, int lane) {
#pragma unroll
  for (int ks = 0; ks < S::KW / 16; ++ks) {
    uint32_t a[S::MW][4];
#pragma unroll
    for (int i = 0; i < S::MW; ++i) {
      a[i][0] = pack2<typename S::T>(s[i][2 * ks][0], s[i][2 * ks][1]);
      a[i][1] = pack2<typename S::T>(s[i][2 * ks][2], s[i][2 * ks][3]);
      a[i][2] = pack2<typename S::T>(s[i][2 * ks + 1][0], s[i][2 * ks + 1][1]);
      a[i][3] = pack2<typename S::T>(s[i][2 * ks + 1][2], s[i][2 * ks + 1][3]);
    }
    const int row = warp_key + 16 * ks + lane % 16;
#pragma unroll
    for (int n = 0; n < S::DP / 16; ++n) {
      uint32_t b[4];
      ldmatrix_x4_trans(b, unit_at<S::k_line>(v_at, row, 2 * n + lane / 16));
#pragma unroll
      for (int i = 0; i < S::MW; ++i) {
        mma_m16n8k16<typename S::T>(w.o[i][2 * n], a[i], b[0], b[1]);
        mma_m16n8k16<typename S::T>(w.o[i][2 * n + 1], a[i], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ float lse_of(const Params& p, float m, float l) {
  return l > 0.0f ? m * p.scale_log2 * k_ln_2 + logf(l) : -INFINITY;
}

// One warp had all keys: O goes through its own rows of the Q tile, then out in 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(WarpState<S>& w, const Params& p, typename S::T* out,
                                           float* lse, uint32_t q_at, unsigned char* q_smem,
                                           int first_query, int warp_row, int lane) {
  using T = typename S::T;
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + 16 * i + 8 * half + g;
      const float l = w.l[i][half];
      const float inverse = l > 0.0f ? 1.0f / l : 0.0f;  // a row with no key gives zeros
#pragma unroll
      for (int n = 0; n < S::DP / 8; ++n) {
        *reinterpret_cast<uint32_t*>(q_smem + unit_at<S::k_line>(0, row, n) + 4 * t) =
            pack2<T>(w.o[i][n][2 * half] * inverse, w.o[i][n][2 * half + 1] * inverse);
      }
      if (lse != nullptr && t == 0 && first_query + row < p.seq_q) {
        lse[first_query + row] = lse_of(p, w.m[i][half], l);
      }
    }
  }
  __syncwarp();
  constexpr int units = S::DP / 8;
#pragma unroll
  for (int e = lane; e < 16 * S::MW * units; e += 32) {
    const int row = warp_row + e / units, unit = e % units;
    if (first_query + row >= p.seq_q || unit * 8 >= p.dim_v) continue;
    const uint4 bits = *reinterpret_cast<const uint4*>(q_smem + unit_at<S::k_line>(0, row, unit));
    T* to = out + (first_query + row) * p.so.row + unit * 8;
    if (p.io == RowIo::wide) {
      *reinterpret_cast<uint4*>(to) = bits;
    } else {
      const T* values = reinterpret_cast<const T*>(&bits);
      for (int c = 0; c < 8 && unit * 8 + c < p.dim_v; ++c) to[c] = values[c];
    }
  }
}

// Warps shared the keys: partial O and (m, l) of each into shared memory, then one weighted sum.
template <class S>
__device__ __forceinline__ void merge_rows(WarpState<S>& w, const Params& p, typename S::T* out,
                                           float* lse, unsigned char* smem, int first_query,
                                           int warp_row, int wn, int lane) {
  using T = typename S::T;
  float* partial = reinterpret_cast<float*>(smem);
  float2* stats = reinterpret_cast<float2*>(partial + S::WN * S::k_rows * S::k_partial_stride);
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + 16 * i + 8 * half + g;
      float* line = partial + (wn * S::k_rows + row) * S::k_partial_stride;
#pragma unroll
      for (int n = 0; n < S::DP / 8; ++n) {
        *reinterpret_cast<float2*>(line + 8 * n + 2 * t) =
            make_float2(w.o[i][n][2 * half], w.o[i][n][2 * half + 1]);
      }
      if (t == 0) stats[wn * S::k_rows + row] = make_float2(w.m[i][half], w.l[i][half]);
    }
  }
  __syncthreads();
  constexpr int quads = S::DP / 4;
#pragma unroll
  for (int i = 0; i < (S::k_rows * quads + S::k_threads - 1) / S::k_threads; ++i) {
    const int e = i * S::k_threads + threadIdx.x;
    const int row = e / quads, d = e % quads * 4;
    if (row >= S::k_rows || first_query + row >= p.seq_q || d >= p.dim_v) continue;
    float top = -INFINITY;
#pragma unroll
    for (int n = 0; n < S::WN; ++n) top = fmaxf(top, stats[n * S::k_rows + row].x);
    const float shift = top == -INFINITY ? 0.0f : top * p.scale_log2;
    float l = 0.0f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int n = 0; n < S::WN; ++n) {
      const float2 ml = stats[n * S::k_rows + row];
      const float weight = ex2(ml.x * p.scale_log2 - shift);
      const float4 o = *reinterpret_cast<const float4*>(
          partial + (n * S::k_rows + row) * S::k_partial_stride + d);
      l += weight * ml.y;
      sum.x += weight * o.x;
      sum.y += weight * o.y;
      sum.z += weight * o.z;
      sum.w += weight * o.w;
    }
    const float inverse = l > 0.0f ? 1.0f / l : 0.0f;
    uint2 bits;
    bits.x = pack2<T>(sum.x * inverse, sum.y * inverse);
    bits.y = pack2<T>(sum.z * inverse, sum.w * inverse);
    T* to = out + (first_query + row) * p.so.row + d;
    if (p.io == RowIo::wide) {
      *reinterpret_cast<uint2*>(to) = bits;
    } else {
      const T* values = reinterpret_cast<const T*>(&bits);
      for (int c = 0; c < 4 && d + c < p.dim_v; ++c) to[c] = values[c];
    }
    if (lse != nullptr && d == 0) lse[first_query + row] = lse_of(p, top, l);
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS) mma_flash(const Params p) {
  using T = typename S::T;
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t q_at = smem_address(smem), ring_at = q_at + S::k_q_bytes;
  unsigned char* ring = smem + S::k_q_bytes;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int wm = warp % S::WM, wn = warp / S::WM;
  const int warp_row = wm * 16 * S::MW, warp_key = wn * S::KW;

  // Later row blocks have more keys under a causal rule: launch them first.
  const int row_block = p.row_blocks - 1 - blockIdx.y;
  const int first_query = row_block * S::k_rows;
  const int batch = blockIdx.x / p.heads_q, head = blockIdx.x % p.heads_q;
  const int head_kv = head / p.group;
  const T* q = static_cast<const T*>(p.q) + batch * p.sq.batch + head * p.sq.head;
  const T* k = static_cast<const T*>(p.k) + batch * p.sk.batch + head_kv * p.sk.head;
  const T* v = static_cast<const T*>(p.v) + batch * p.sv.batch + head_kv * p.sv.head;
  T* out = static_cast<T*>(p.out) + batch * p.so.batch + head * p.so.head;
  float* lse = p.lse == nullptr ? nullptr : p.lse + int64_t(blockIdx.x) * p.seq_q;

  const int last_query = min(first_query + S::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  const int tiles = (keys + S::k_keys - 1) / S::k_keys;

  const auto load_k = [&](int tile, int stage) {
    load_rows<T, S::k_keys, S::DP, S::k_threads>(ring_at + stage * S::k_stage_bytes,
                                                 ring + stage * S::k_stage_bytes, k, p.sk.row,
                                                 tile * S::k_keys, p.seq_kv, p.dim, p.io);
  };
  const auto load_v = [&](int tile, int stage) {
    const int at = stage * S::k_stage_bytes + S::k_tile_bytes;
    load_rows<T, S::k_keys, S::DP, S::k_threads>(ring_at + at, ring + at, v, p.sv.row,
                                                 tile * S::k_keys, p.seq_kv, p.dim_v, p.io);
  };

#if EARLY_START
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
#endif
  // Two groups a stage, K before V, so that scores start while V is still under way.
  load_rows<T, S::k_rows, S::DP, S::k_threads>(q_at, smem, q, p.sq.row, first_query, p.seq_q, p.dim,
                                               p.io);
#pragma unroll
  for (int stage = 0; stage < S::STAGES; ++stage) {
    if (stage < tiles) load_k(stage, stage);
    cp_async_commit_group();
    if (stage < tiles) load_v(stage, stage);
    cp_async_commit_group();
  }
  cp_async_wait_group<2 * S::STAGES - 1>();
  __syncthreads();
  WarpState<S> w;
  init_rows<S>(w, q_at, warp_row, lane, p.negate);

  const int least_limit = min(p.seq_kv - 1, first_query + warp_row + p.causal_offset);
  int stage = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const uint32_t k_at = ring_at + stage * S::k_stage_bytes;
    const int first_key = tile * S::k_keys + warp_key;
    float s[S::MW][S::KW / 8][4];
    if (tile > 0) {
      cp_async_wait_group<2 * S::STAGES - 1>();
      __syncthreads();
    }
    gemm_qk<S>(s, w, q_at, warp_row, k_at, warp_key, lane, p.negate);
    if (first_key + S::KW - 1 > least_limit) {
      mask_scores<S>(s, p, first_query + warp_row, first_key, lane);
    }
    softmax<S>(s, w, p.scale_log2);
    cp_async_wait_group<2 * S::STAGES - 2>();
    __syncthreads();  // every thread's part of V has landed, and K's readers are done
    if (tile + S::STAGES < tiles) load_k(tile + S::STAGES, stage);
    cp_async_commit_group();
    gemm_pv<S>(w, s, k_at + S::k_tile_bytes, warp_key, lane);
    if (tile + S::STAGES < tiles) {
      __syncthreads();  // V's readers are done
      load_v(tile + S::STAGES, stage);
    }
    cp_async_commit_group();
    if (++stage == S::STAGES) stage = 0;
  }

#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      w.l[i][half] += __shfl_xor_sync(~0u, w.l[i][half], 1);
      w.l[i][half] += __shfl_xor_sync(~0u, w.l[i][half], 2);
    }
  }
  if constexpr (S::WN == 1) {
    __syncwarp();  // the warp's Q rows are read (there may have been no step since): O overlays
                   // them
    store_rows<S>(w, p, out, lse, q_at, smem, first_query, warp_row, lane);
  } else {
    cp_async_wait_group<0>();
    __syncthreads();  // the partials overlay the ring
    merge_rows<S>(w, p, out, lse, ring, first_query, warp_row, wn, lane);
  }
}

}  // namespace wb::gpu
