// SPDX-License-Identifier: MIT
// Host side of kernels that read Q, K and V by the copy engine: what it asks of strides, the maps,
// and what every kernel's parameters take over from a problem. Strides and sizes are in elements.
// Included by sm90_wgmma_carry and sm90_wgmma_pingpong (by prefill_plan.cuh), sm90_wgmma_wide and
// sm90_wgmma_flash.
#pragma once

#include "plan.cuh"
#include "tma.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace wb::gpu {

inline bool aligned_for_copy_engine(wb_strides s, int64_t batch, int64_t heads, int64_t rows) {
  return (batch == 1 || s.batch % 8 == 0) && (heads == 1 || s.head % 8 == 0) &&
         (rows == 1 || (s.row % 8 == 0 && s.row > 0));
}

inline bool aligned_for_copy_engine(const wb_sdpa_problem& p) {
  return aligned_for_copy_engine(p.k, p.batch, p.heads_kv, p.seq_kv) &&
         aligned_for_copy_engine(p.v, p.batch, p.heads_kv, p.seq_kv) &&
         aligned_for_copy_engine(p.q, p.batch, p.heads_q, p.seq_q) &&
         aligned_for_copy_engine(p.out, p.batch, p.heads_q, p.seq_q);
}

// Maps of Q, K and V whose boxes have so many rows. Returns nullptr, or why not.
inline const char* encode_qkv_maps(CUtensorMap* maps, const wb_sdpa_args& args,
                                   const wb_sdpa_problem& p, uint32_t q_rows, uint32_t k_rows,
                                   uint32_t v_rows) {
  const char* why =
      encode_bhsd_map(&maps[0], args.q, p.dtype, p.batch, p.heads_q, p.seq_q, p.dim, p.q, q_rows);
  if (why == nullptr) {
    why = encode_bhsd_map(&maps[1], args.k, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim, p.k,
                          k_rows);
  }
  if (why == nullptr) {
    why = encode_bhsd_map(&maps[2], args.v, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim_v, p.v,
                          v_rows);
  }
  return why;
}

// A row keeps key <= query + offset.
inline int causal_offset_of(const wb_sdpa_problem& p) {
  return p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
         : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                          : int(p.seq_kv - p.seq_q);
}

// The scale's magnitude for exp2. A zero scale becomes 2^-100: exp2 of any score is then 1, and
// -inf stays -inf.
inline float scale_log2_of(const wb_sdpa_problem& p) {
  return std::max(float(std::fabs(p.scale) * 1.4426950408889634), 0x1p-100f);
}

// Params: so, heads_q, group, seq_q, seq_kv, dim_v, causal_offset, negate, scale_log2.
template <class Params>
void take_over_problem(Params& k, const wb_sdpa_problem& p) {
  k.so = p.out;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim_v = int(p.dim_v);
  k.causal_offset = causal_offset_of(p);
  k.negate = p.scale < 0.0;
  k.scale_log2 = scale_log2_of(p);
}

}  // namespace wb::gpu
