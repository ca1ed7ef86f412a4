/* SPDX-License-Identifier: MIT
 * The C ABI between the workbench's worker and a compiled attention variant (CPU or CUDA).
 * A variant is a shared library that exports the functions below; the subject process loads it.
 * Version 1. Later versions only append fields: both sides look at struct_size.
 * The page docs/kernel_abi.md explains the rules with an example. */
#ifndef WB_SDPA_ABI_H
#define WB_SDPA_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WB_SDPA_ABI_VERSION 1

#if defined(_WIN32)
#define WB_SDPA_EXPORT
#else
#define WB_SDPA_EXPORT __attribute__((visibility("default")))
#endif

/* Frozen values: they stand in compiled artifacts. */
enum wb_dtype { WB_F32 = 0, WB_F16 = 1, WB_BF16 = 2 };
enum wb_causal { WB_CAUSAL_NONE = 0, WB_CAUSAL_TOP_LEFT = 1, WB_CAUSAL_BOTTOM_RIGHT = 2 };
enum wb_mask { WB_MASK_NONE = 0, WB_MASK_BOOL = 1, WB_MASK_ADDITIVE = 2 };
enum wb_status {
  WB_OK = 0,
  WB_UNSUPPORTED = 1, /* the problem is outside what the variant can do */
  WB_FAILED = 2       /* anything else; wb_sdpa_last_error says what */
};

/* Element strides of a [B, H, S, D]-indexed tensor, whatever its memory layout. The stride of D is
 * 1 always and not stored. For a mask: of [B, Hq, Sq, Skv]; 0 on broadcast dimensions, and here the
 * stride of the last dimension (Skv) is 1. */
typedef struct wb_strides {
  int64_t batch;
  int64_t head;
  int64_t row;
} wb_strides;

/* One attention problem. out = softmax(scale * q k^T + mask) v, per batch and query head.
 *   q   [batch, heads_q,  seq_q,  dim]      k [batch, heads_kv, seq_kv, dim]
 *   v   [batch, heads_kv, seq_kv, dim_v]    out [batch, heads_q, seq_q, dim_v], strides of its own
 * Query head h reads key/value head h / (heads_q / heads_kv).
 * causal top_left keeps k <= q; bottom_right keeps k <= q + seq_kv - seq_q. A causal rule and a
 * mask combine by AND. A row with no key left gives zeros and lse = -inf. */
typedef struct wb_sdpa_problem {
  size_t struct_size; /* sizeof(wb_sdpa_problem) of the caller */
  int32_t abi_version;
  int32_t dtype;  /* wb_dtype of q, k, v, out */
  int32_t causal; /* wb_causal */
  int32_t mask;   /* wb_mask: bool (1 byte, 1 = keep) or additive (q's dtype) */
  int64_t batch, heads_q, heads_kv, seq_q, seq_kv, dim, dim_v;
  wb_strides q, k, v, out, mask_strides;
  double scale;     /* applied to q k^T before an additive mask */
  int32_t want_lse; /* 1: args.lse will be given */
  int32_t device;   /* CUDA device ordinal in this process; -1 on the CPU */
  /* Reserved; all zero in version 1. */
  int64_t window_left, window_right; /* sliding window; 0, 0 = off */
  double softcap;
  const int32_t* cu_seqlens_q; /* varlen */
  const int32_t* cu_seqlens_kv;
  const int32_t* page_table; /* paged KV */
  int64_t page_size;
} wb_sdpa_problem;

/* What changes from call to call. All pointers are 256-byte aligned and do not alias. */
typedef struct wb_sdpa_args {
  size_t struct_size;
  const void* q;
  const void* k;
  const void* v;
  const void* mask; /* NULL without a mask */
  void* out;
  float* lse; /* [batch, heads_q, seq_q] contiguous, natural log; NULL when not wanted */
  /* wb_sdpa_workspace_bytes(plan) bytes, zeroed when allocated, kept between the calls of one
     plan, never shared by two streams, zeroed again after a failure */
  void* workspace;
  void* stream;    /* cudaStream_t / CUstream; NULL on the CPU */
  int32_t threads; /* CPU: how many threads the call may use, >= 1 */
} wb_sdpa_args;

typedef struct wb_sdpa_plan wb_sdpa_plan; /* opaque, owned by the variant */

/* Host set-up for one problem: tensor maps, kernel attributes, thread pools. Returns WB_UNSUPPORTED
 * when the problem is outside the variant's reach. *plan is NULL unless WB_OK. */
WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan);

/* Bytes of workspace that wb_sdpa_forward needs for this plan (0 for none): of device memory for
 * CUDA, of host memory for the CPU. */
WB_SDPA_EXPORT size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan);

/* Runs the problem once. CUDA: enqueues on args->stream only; capturable; no allocation, no
 * synchronisation, no legacy stream. CPU: returns when out is written; threads it uses must not
 * spin after the return, and may not be started here. */
WB_SDPA_EXPORT int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args);

WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan* plan);

/* The text of the last failure on this thread; never NULL; valid until the next call. */
WB_SDPA_EXPORT const char* wb_sdpa_last_error(void);

/* The id given at compile time through -DWB_BUILD_ID="...": proof of which artifact is loaded. */
WB_SDPA_EXPORT const char* wb_sdpa_build_id(void);

#ifdef __cplusplus
}
#endif
#endif
