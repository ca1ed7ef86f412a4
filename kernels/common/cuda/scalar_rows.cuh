// SPDX-License-Identifier: MIT
// Attention in plain f32 arithmetic, an element at a time: the parameters of a call and the score
// of a key. It takes the three dtypes, every causal rule, mask and layout, so that a kernel on it
// is its data flow and nothing else. Included by scalar_launches.cuh.
#pragma once

#include "cuda/plan.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

namespace wb::gpu {

struct ScalarParams {
  const void *q, *k, *v, *mask;
  void* out;
  float* lse;
  wb_strides sq, sk, sv, so, sm;  // sm: of the mask
  int heads_q, group, seq_q, seq_kv, dim, dim_v;
  int mask_kind;
  int causal_offset;  // row i sees the keys up to i + causal_offset
  float scale;
};

// Where a block works. The grid has one dimension: batch, head, part of the rows.
struct BlockCoord {
  int batch, head, head_kv, part;
};

__device__ __forceinline__ BlockCoord block_coord(const ScalarParams& p, int parts) {
  BlockCoord coord;
  const int head = int(blockIdx.x) / parts;
  coord.part = int(blockIdx.x) % parts;
  coord.batch = head / p.heads_q;
  coord.head = head % p.heads_q;
  coord.head_kv = coord.head / p.group;
  return coord;
}

__device__ __forceinline__ int64_t row_offset(wb_strides s, int batch, int head, int64_t row) {
  return batch * s.batch + head * s.head + row * s.row;
}

__device__ __forceinline__ int visible_keys(const ScalarParams& p, int row) {
  return max(0, min(p.seq_kv, row + p.causal_offset + 1));
}

// mask_row: of the mask, key 0 on; in elements, from row_offset. The caller has seen to the causal
// rule.
template <typename T>
__device__ __forceinline__ float masked_score(const ScalarParams& p, int64_t mask_row, int key,
                                              float dot) {
  const float score = dot * p.scale;
  if (p.mask_kind == WB_MASK_BOOL) {
    return static_cast<const unsigned char*>(p.mask)[mask_row + key] != 0 ? score : -INFINITY;
  }
  if (p.mask_kind == WB_MASK_ADDITIVE) {
    return score + float(static_cast<const T*>(p.mask)[mask_row + key]);
  }
  return score;
}

// What exponents are taken relative to: of a row that saw no key yet, all of them are -inf, and
// -inf less -inf would be NaN.
__device__ __forceinline__ float softmax_shift(float maximum) {
  return maximum == -INFINITY ? 0.0f : maximum;
}

// sum is 0 where no key is left, and at least 1 elsewhere; NaN stays NaN.
template <typename T>
__device__ __forceinline__ T normalized(float weighted, float sum) {
  return T(sum == 0.0f ? 0.0f : weighted / sum);
}

__device__ __forceinline__ void store_lse(const ScalarParams& p, int batch, int head, int row,
                                          float maximum, float sum) {
  if (p.lse == nullptr) return;
  p.lse[(int64_t(batch) * p.heads_q + head) * p.seq_q + row] =
      sum == 0.0f ? -INFINITY : maximum + logf(sum);
}

// Host side

// What int arithmetic, the grid and a head dim of up to most_dim can hold.
inline int check_scalar_reach(const char* name, const wb_sdpa_problem& p, int64_t most_dim) {
  if (p.dtype != WB_F32 && p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "%s: f32, f16 and bf16 only", name);
  }
  if (p.causal < WB_CAUSAL_NONE || p.causal > WB_CAUSAL_BOTTOM_RIGHT || p.mask < WB_MASK_NONE ||
      p.mask > WB_MASK_ADDITIVE) {
    return fail(WB_UNSUPPORTED, "%s: an unknown causal rule or mask", name);
  }
  if (p.dim > most_dim || p.dim_v > most_dim) {
    return fail(WB_UNSUPPORTED, "%s: head dims up to %lld", name, static_cast<long long>(most_dim));
  }
  constexpr int64_t most = int64_t(1) << 29;  // sums of two of them are ints
  if (p.seq_q > most || p.seq_kv > most || p.batch > most / p.heads_q ||
      p.batch * p.heads_q > ((int64_t(1) << 31) - 1) / p.seq_q) {
    return fail(WB_UNSUPPORTED, "%s: more rows, keys or heads than the grid holds", name);
  }
  return WB_OK;
}

inline ScalarParams scalar_params(const wb_sdpa_problem& p) {
  ScalarParams k = {};
  k.sq = p.q;
  k.sk = p.k;
  k.sv = p.v;
  k.so = p.out;
  k.sm = p.mask_strides;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim = int(p.dim);
  k.dim_v = int(p.dim_v);
  k.mask_kind = p.mask;
  k.causal_offset = causal_offset_of(p);
  k.scale = float(p.scale);
  return k;
}

}  // namespace wb::gpu

extern __shared__ __align__(16) float scalar_smem[];
