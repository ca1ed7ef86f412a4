/* SPDX-License-Identifier: MIT
 * Which problems the recorded passes of the exported artifact cover: wb_outside() says why not.
 * The table and the restrictions are in wb_proven.h, which the export wrote. C and C++; part of
 * packages that `sdpa-wb export` writes, of use to nobody else. */
#ifndef WB_DOMAIN_H
#define WB_DOMAIN_H

#include "sdpa_abi.h"

/* One dtype and head dim. The last four are sets: bit n stands for the enum's value n; layouts:
 * bit 0 heads outside rows (BHSD), bit 1 rows outside heads (BSHD); gqa: bit 1 Hkv < Hq. */
typedef struct wb_proven_entry {
  int32_t dtype;
  int64_t dim, dim_v, seq_q_max, seq_kv_max;
  uint32_t causal, masks, layouts, gqa;
} wb_proven_entry;

#include "wb_proven.h"

/* Bit 0: fits BHSD, bit 1: fits BSHD; both where one head or one row makes no difference. */
static inline uint32_t wb_layouts_of(const wb_strides* strides, int64_t heads, int64_t rows) {
  if (heads == 1 || rows == 1) return 3u;
  return (strides->head >= strides->row ? 1u : 0u) | (strides->row >= strides->head ? 2u : 0u);
}

static inline int wb_stride_is_safe(int64_t stride, int64_t packed, int64_t element_bytes) {
  return stride == packed || stride * element_bytes % 16 == 0;
}

/* A GPU kernel loads 16 bytes at once where the width allows it: rows must begin where those of a
 * packed tensor do, or on 16 bytes. */
static inline int wb_rows_are_safe(const wb_strides* strides, int64_t heads, int64_t rows,
                                   int64_t width, int64_t element_bytes) {
  const int is_bhsd = strides->head >= strides->row;
  const int64_t row = is_bhsd ? width : heads * width;
  const int64_t head = is_bhsd ? rows * width : width;
  return (rows == 1 || wb_stride_is_safe(strides->row, row, element_bytes)) &&
         (heads == 1 || wb_stride_is_safe(strides->head, head, element_bytes)) &&
         wb_stride_is_safe(strides->batch, heads * rows * width, element_bytes);
}

/* NULL when the recorded passes cover the problem, else the reason, a literal. Passes are of dense
 * forwards; a header of version 1 knows nothing else. */
static inline const char* wb_outside(const wb_sdpa_problem* p) {
  const wb_proven_entry* entry = NULL;
  const int64_t element_bytes = p->dtype == WB_F32 ? 4 : 2;
  const uint32_t layouts = wb_layouts_of(&p->q, p->heads_q, p->seq_q) &
                           wb_layouts_of(&p->k, p->heads_kv, p->seq_kv) &
                           wb_layouts_of(&p->v, p->heads_kv, p->seq_kv);
  size_t i;
#if WB_SDPA_ABI_VERSION >= 2
  if (p->struct_size < WB_SDPA_PROBLEM_V1_BYTES) return "struct_size is smaller than any version's";
  if (wb_sdpa_beyond_dense_forward(p) != NULL) return wb_sdpa_beyond_dense_forward(p);
#endif
  if (p->batch < 1 || p->heads_q < 1 || p->heads_kv < 1 || p->seq_q < 1 || p->seq_kv < 1) {
    return "a size is below 1";
  }
  if (p->heads_q % p->heads_kv != 0) return "Hq is no multiple of Hkv";
  for (i = 0; i < sizeof k_wb_proven / sizeof k_wb_proven[0]; ++i) {
    if (k_wb_proven[i].dtype == p->dtype && k_wb_proven[i].dim == p->dim &&
        k_wb_proven[i].dim_v == p->dim_v) {
      entry = &k_wb_proven[i];
    }
  }
  if (entry == NULL) return "no recorded pass has this dtype and head dim";
  if (!(entry->causal >> p->causal & 1u)) return "no recorded pass has this causal kind";
  if (!(entry->masks >> p->mask & 1u)) return "no recorded pass has this kind of mask";
  if (!(entry->gqa >> (p->heads_kv < p->heads_q) & 1u)) {
    return p->heads_kv < p->heads_q ? "no recorded pass has Hkv < Hq"
                                    : "no recorded pass has Hkv = Hq";
  }
  if (layouts == 0) return "q, k and v differ in their layout";
  if ((entry->layouts & layouts) == 0) return "no recorded pass has this layout";
  if (p->seq_q > entry->seq_q_max) return "Sq is above the largest that passed";
  if (p->seq_kv > entry->seq_kv_max) return "Skv is above the largest that passed";
  if (!WB_PROVEN_ROWS_WITHOUT_KEYS &&
      (p->mask != WB_MASK_NONE || (p->causal == WB_CAUSAL_BOTTOM_RIGHT && p->seq_q > p->seq_kv))) {
    return "a row may see no key";
  }
  if (WB_PROVEN_CUDA &&
      !(wb_rows_are_safe(&p->q, p->heads_q, p->seq_q, p->dim, element_bytes) &&
        wb_rows_are_safe(&p->k, p->heads_kv, p->seq_kv, p->dim, element_bytes) &&
        wb_rows_are_safe(&p->v, p->heads_kv, p->seq_kv, p->dim_v, element_bytes))) {
    return "rows of a strided tensor do not begin on 16 bytes";
  }
  return wb_restriction(p);
}

#endif
