// SPDX-License-Identifier: MIT
// Flash attention for a few packed query rows on mma.sync with the operands swapped: keys, then the
// columns of V, lie on M (16), query rows on N (8 at a time). S^T = K Q^T; O^T = V^T P^T. Each warp
// has its own keys and its own running softmax; cluster_merge.cuh adds the warps up.
//
// A kernel describes itself by a type S: T, DP (padded head dim), NT (8-row tiles of a warp), MK
// (16-key tiles of a warp's step), and what cluster_merge.cuh asks for. Packed row r is query
// r / group of head head_kv * group + r % group.
#pragma once

#include <cmath>

#include "sdpa_abi.h"
#include "sm80/mma.cuh"

namespace wb::gpu {

struct PackedRows {
  const void* q;
  wb_strides sq;
  int group, seq_kv, dim;
  int rows;           // seq_q * group: packed rows of one KV head
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  float scale_log2;
};

// What one consumer warp carries through the loop.
template <class S>
struct WarpState {
  uint32_t q[S::NT][S::DP / 16][2];  // Q^T as B operand
  float o[S::DP / 16][S::NT][4];     // O^T accumulators
  float m[S::NT][2], l[S::NT][2];    // running max (log2 units) and this lane's part of the sum
  int limit[S::NT][2];               // last key a row may see
  int least_limit;                   // over the warp's rows: tiles below it need no mask
};

// Q is read in three parts, so that a kernel can work the first two out before it may read memory:
// where each row of this lane lies (null: zeros), ...
template <class S>
__device__ __forceinline__ void query_sources(const uint32_t* (&src)[S::NT], const PackedRows& p,
                                              int batch, int head_kv, int first_row, int lane) {
  using T = typename S::T;
#pragma unroll
  for (int n = 0; n < S::NT; ++n) {
    const int row = first_row + 8 * n + lane / 4;
    const int query = row / p.group, head = head_kv * p.group + row % p.group;
    src[n] = reinterpret_cast<const uint32_t*>(static_cast<const T*>(p.q) + batch * p.sq.batch +
                                               head * p.sq.head + query * p.sq.row) +
             lane % 4;
    if (row >= p.rows) src[n] = nullptr;
  }
}

// ... what the warp starts from, ...
template <class S>
__device__ __forceinline__ void init_rows(WarpState<S>& w, const PackedRows& p, int first_row,
                                          int lane) {
  int least = p.seq_kv - 1;
#pragma unroll
  for (int n = 0; n < S::NT; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int row = first_row + 8 * n + 2 * (lane % 4) + j;
      const int keep = row < p.rows ? row / p.group + p.causal_offset : p.seq_kv;
      w.limit[n][j] = min(p.seq_kv - 1, keep);
      least = min(least, w.limit[n][j]);
      w.m[n][j] = -INFINITY;
      w.l[n][j] = 0.0f;
    }
  }
  least = min(least, __shfl_xor_sync(~0u, least, 1));
  w.least_limit = min(least, __shfl_xor_sync(~0u, least, 2));
#pragma unroll
  for (int i = 0; i < S::DP / 16; ++i) {
#pragma unroll
    for (int n = 0; n < S::NT; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) w.o[i][n][c] = 0.0f;
    }
  }
}

// ... and the reading itself.
template <class S>
__device__ __forceinline__ void fetch_query(WarpState<S>& w, const uint32_t* const (&src)[S::NT],
                                            int dim, int lane) {
#pragma unroll
  for (int n = 0; n < S::NT; ++n) {
#pragma unroll
    for (int ks = 0; ks < S::DP / 16; ++ks) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int d = 16 * ks + 8 * half + 2 * (lane % 4);
        w.q[n][ks][half] = (src[n] != nullptr && d < dim) ? __ldg(src[n] + 8 * ks + 4 * half) : 0u;
      }
    }
  }
}

// S^T = K Q^T for this warp's keys, scaled into log2 units. `at(row, unit)` is the
// shared-memory address of 16-byte unit `unit` of this warp's key `row`.
template <class S, class At>
__device__ __forceinline__ void gemm_qk(float (&s)[S::MK][S::NT][4], const WarpState<S>& w, At at,
                                        int lane, float scale_log2) {
#pragma unroll
  for (int mk = 0; mk < S::MK; ++mk) {
    float odd[S::NT][4];  // two chains of dependent products instead of one
#pragma unroll
    for (int n = 0; n < S::NT; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) s[mk][n][c] = odd[n][c] = 0.0f;
    }
#pragma unroll
    for (int ks = 0; ks < S::DP / 16; ++ks) {
      uint32_t a[4];
      ldmatrix_x4(a, at(16 * mk + lane % 16, 2 * ks + lane / 16));
#pragma unroll
      for (int n = 0; n < S::NT; ++n) {
        mma_m16n8k16<typename S::T>(ks % 2 == 0 ? s[mk][n] : odd[n], a, w.q[n][ks][0],
                                    w.q[n][ks][1]);
      }
    }
#pragma unroll
    for (int n = 0; n < S::NT; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) s[mk][n][c] = (s[mk][n][c] + odd[n][c]) * scale_log2;
    }
  }
}

template <class S>
__device__ __forceinline__ void mask_scores(float (&s)[S::MK][S::NT][4], const WarpState<S>& w,
                                            int first_key, int lane) {
#pragma unroll
  for (int mk = 0; mk < S::MK; ++mk) {
#pragma unroll
    for (int n = 0; n < S::NT; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int key = first_key + 16 * mk + lane / 4 + (c >= 2 ? 8 : 0);
        if (key > w.limit[n][c & 1]) s[mk][n][c] = -INFINITY;
      }
    }
  }
}

// Online softmax over this warp's keys; leaves P^T packed as the B operand of the second product.
template <class S>
__device__ __forceinline__ void softmax(uint32_t (&prob)[S::MK][S::NT][2],
                                        float (&s)[S::MK][S::NT][4], WarpState<S>& w) {
  bool moved = false;
  float alpha[S::NT][2];
#pragma unroll
  for (int n = 0; n < S::NT; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float top = s[0][n][j];
#pragma unroll
      for (int mk = 0; mk < S::MK; ++mk) top = fmaxf(top, fmaxf(s[mk][n][j], s[mk][n][j + 2]));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 4));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 8));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 16));
      const float m = fmaxf(w.m[n][j], top);
      moved |= m > w.m[n][j];
      const float shift = m == -INFINITY ? 0.0f : m;  // no key seen yet: keep exp2 at 0, not NaN
      alpha[n][j] = ex2(w.m[n][j] - shift);
      w.m[n][j] = m;
      float sum = 0.0f;
#pragma unroll
      for (int mk = 0; mk < S::MK; ++mk) {
        s[mk][n][j] = ex2(s[mk][n][j] - shift);
        s[mk][n][j + 2] = ex2(s[mk][n][j + 2] - shift);
        sum += s[mk][n][j] + s[mk][n][j + 2];
      }
      w.l[n][j] = w.l[n][j] * alpha[n][j] + sum;
    }
#pragma unroll
    for (int mk = 0; mk < S::MK; ++mk) {
      prob[mk][n][0] = movmatrix_trans(pack2<typename S::T>(s[mk][n][0], s[mk][n][1]));
      prob[mk][n][1] = movmatrix_trans(pack2<typename S::T>(s[mk][n][2], s[mk][n][3]));
    }
  }
  // A maximum rarely moves after the first few tiles: skip the rescaling when no lane's did.
  if (__any_sync(~0u, moved)) {
#pragma unroll
    for (int i = 0; i < S::DP / 16; ++i) {
#pragma unroll
      for (int n = 0; n < S::NT; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) w.o[i][n][c] *= alpha[n][c & 1];
      }
    }
  }
}

// O^T += V^T P^T for this warp's keys.
template <class S, class At>
__device__ __forceinline__ void gemm_pv(WarpState<S>& w, const uint32_t (&prob)[S::MK][S::NT][2],
                                        At at, int lane) {
#pragma unroll
  for (int mk = 0; mk < S::MK; ++mk) {
#pragma unroll
    for (int i = 0; i < S::DP / 16; ++i) {
      uint32_t a[4];
      ldmatrix_x4_trans(a, at(16 * mk + lane % 8 + lane / 16 * 8, 2 * i + lane / 8 % 2));
#pragma unroll
      for (int n = 0; n < S::NT; ++n) {
        mma_m16n8k16<typename S::T>(w.o[i][n], a, prob[mk][n][0], prob[mk][n][1]);
      }
    }
  }
}

// This warp's partial O and (m, l) into shared memory, rows outermost.
template <class S>
__device__ __forceinline__ void store_warp_partial(WarpState<S>& w, float* partial, float2* ml,
                                                   int first_row, int wk, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int n = 0; n < S::NT; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int row = first_row + 8 * n + 2 * t + j;
      float l = w.l[n][j];
      l += __shfl_xor_sync(~0u, l, 4);
      l += __shfl_xor_sync(~0u, l, 8);
      l += __shfl_xor_sync(~0u, l, 16);
      if (g == 0) ml[wk * S::k_rows + row] = make_float2(w.m[n][j], l);
      float* line = partial + wk * S::k_partial_warp + row * S::k_partial_stride;
#pragma unroll
      for (int i = 0; i < S::DP / 16; ++i) {
        line[16 * i + g] = w.o[i][n][j];
        line[16 * i + g + 8] = w.o[i][n][j + 2];
      }
    }
  }
}

}  // namespace wb::gpu
