// SPDX-License-Identifier: MIT
// Host side of kernels that read Q, K and V by TMA: what it asks of strides, and the maps. Strides
// and sizes are in elements. Included by sm90_wgmma_carry and sm90_wgmma_pingpong (by
// prefill_plan.cuh), sm90_wgmma_wide and sm90_wgmma_flash.
#pragma once

#include "cuda/plan.cuh"
#include "sm90/tma.cuh"

#include <cstdint>

namespace wb::gpu {

inline bool aligned_for_tma(wb_strides s, int64_t batch, int64_t heads, int64_t rows) {
  return used_strides_divide_by(s, batch, heads, rows, 8) && (rows == 1 || s.row > 0);
}

inline bool aligned_for_tma(const wb_sdpa_problem& p) {
  return aligned_for_tma(p.k, p.batch, p.heads_kv, p.seq_kv) &&
         aligned_for_tma(p.v, p.batch, p.heads_kv, p.seq_kv) &&
         aligned_for_tma(p.q, p.batch, p.heads_q, p.seq_q) &&
         aligned_for_tma(p.out, p.batch, p.heads_q, p.seq_q);
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

}  // namespace wb::gpu
