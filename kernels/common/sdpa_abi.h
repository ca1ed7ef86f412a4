/* SPDX-License-Identifier: MIT
 * The C ABI between the workbench's worker and a compiled attention variant (CPU or CUDA).
 * A variant is a shared library that exports the functions below; the subject process loads it.
 * Version 2. Later versions only append fields: both sides look at struct_size. A caller fills
 * every struct with zeros first, then sets what it knows; abi_version is the lowest version that
 * can say the problem, so it is 1 for a dense forward. Kernels built with this header accept 1
 * and 2. The page docs/contracts/kernel_abi.md explains the rules with an example. */
#ifndef WB_SDPA_ABI_H
#define WB_SDPA_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WB_SDPA_ABI_VERSION 2

#if defined(_WIN32)
#define WB_SDPA_EXPORT
#else
#define WB_SDPA_EXPORT __attribute__((visibility("default")))
#endif

/* Frozen values: they stand in compiled artifacts. */
enum wb_dtype { WB_F32 = 0, WB_F16 = 1, WB_BF16 = 2, WB_E4M3 = 3 };
enum wb_causal { WB_CAUSAL_NONE = 0, WB_CAUSAL_TOP_LEFT = 1, WB_CAUSAL_BOTTOM_RIGHT = 2 };
enum wb_mask { WB_MASK_NONE = 0, WB_MASK_BOOL = 1, WB_MASK_ADDITIVE = 2 };
enum wb_pass { WB_FORWARD = 0, WB_BACKWARD = 1 };
enum wb_status {
  WB_OK = 0,
  WB_UNSUPPORTED = 1, /* the problem is outside what the variant can do */
  WB_FAILED = 2       /* anything else; wb_sdpa_last_error says what */
};

/* Element strides of a [B, H, S, D]-indexed tensor, whatever its memory layout. The stride of D is
 * 1 always and not stored. For a mask: of [B, Hq, Sq, Skv]; 0 on broadcast dimensions, and here the
 * stride of the last dimension (Skv) is 1. For a packed tensor [total, H, D]: batch is 0. For pages
 * [pages, Hkv, page_size, D] or [pages, page_size, Hkv, D]: batch is the stride of a page. */
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
 * mask combine by AND. A row with no key left gives zeros and lse = -inf.
 *
 * Packed problems: batch sequences of their own lengths lie one after the other, without gaps, in
 * q [total_q, heads_q, dim], k [total_kv, heads_kv, dim], v [total_kv, heads_kv, dim_v] and
 * out [total_q, heads_q, dim_v]. seq_q, seq_kv, total_q and total_kv are then the largest values
 * that may occur. Lengths and tables lie in device memory for CUDA and in host memory for the CPU;
 * their content may change between calls within these bounds, so a forward reads them where it
 * runs. */
typedef struct wb_sdpa_problem {
  size_t struct_size; /* sizeof(wb_sdpa_problem) of the caller */
  int32_t abi_version;
  int32_t dtype;  /* wb_dtype of q, k, v; and of out, except with WB_E4M3: see dtype_out */
  int32_t causal; /* wb_causal */
  int32_t mask;   /* wb_mask: bool (1 byte, 1 = keep) or additive (q's dtype) */
  int64_t batch, heads_q, heads_kv, seq_q, seq_kv, dim, dim_v;
  wb_strides q, k, v, out, mask_strides;
  double scale;     /* applied to q k^T before an additive mask */
  int32_t want_lse; /* 1: args.lse will be given */
  int32_t device;   /* CUDA device ordinal in this process; -1 on the CPU */

  /* All zero in version 1. */

  /* Sliding window, read where has_window is 1: query row q sees keys q + offset - window_left to
     q + offset + window_right, both inside; -1 = open on that side. offset is 0 for top_left, and
     seq_kv - seq_q (of the sequence itself) for none and bottom_right. It cuts further than the
     causal rule; where has_window is 0, both are 0. */
  int64_t window_left, window_right; /* keys */
  double softcap;                    /* X > 0: a score s becomes X tanh(s / X), after the scale and
                                        before the masks; 0 = off */
  /* int32 [batch + 1] each, from 0 on and never falling: sequence b has the rows cu_seqlens[b] up
     to, not including, cu_seqlens[b + 1] of the packed q and out, or k and v. NULL where the tensor
     is not packed. */
  const int32_t* cu_seqlens_q;
  const int32_t* cu_seqlens_kv;
  /* int32 [batch, page_table_stride]: entry (b, n) is the page that holds the keys n * page_size up
     to (n + 1) * page_size of sequence b. NULL = k and v are not in pages. */
  const int32_t* page_table;
  int64_t page_size; /* tokens of a page */

  /* Appended in version 2: read them only where struct_size covers them. Zero = as in version 1. */

  int32_t pass;       /* wb_pass: the function that this plan is made for */
  int32_t dtype_out;  /* with WB_E4M3 the wb_dtype of out (WB_BF16); else 0: out has q's dtype */
  int32_t kv_shared;  /* 1: v is the first dim_v columns of k: args.v == args.k, heads_kv is 1 */
  int32_t has_window; /* 1: window_left and window_right hold a window */
  int64_t total_q, total_kv;   /* most rows of a packed q and out, of a packed k and v; else 0 */
  int64_t total_pages;         /* pages that k and v have, used or not */
  int64_t page_table_stride;   /* entries from one sequence's row of page_table to the next */
  wb_strides dout, dq, dk, dv; /* of a backward; dout is shaped as out, dq as q, dk as k, dv as v */
  const int32_t* kv_lens;      /* int32 [batch]: keys of each sequence where k and v are in pages */
} wb_sdpa_problem;

/* What changes from call to call. All pointers are 256-byte aligned and do not alias, except that
 * v == k where kv_shared is 1. */
typedef struct wb_sdpa_args {
  size_t struct_size;
  const void* q;
  const void* k;
  const void* v;
  const void* mask; /* NULL without a mask */
  void* out;
  float* lse; /* [batch, heads_q, seq_q] contiguous, or [heads_q, total_q] of a packed problem;
                 natural log; NULL when not wanted */
  /* wb_sdpa_workspace_bytes(plan) bytes, zeroed when allocated, kept between the calls of one
     plan, never shared by two streams, zeroed again after a failure */
  void* workspace;
  void* stream;    /* cudaStream_t / CUstream; NULL on the CPU */
  int32_t threads; /* CPU: how many threads the call may use, >= 1 */

  /* Appended in version 2: read them only where struct_size covers them. */

  const float* sink; /* [heads_q]: a logit that joins the sum of every row of its head, and with it
                        the lse, but has no value; NULL = none */
  /* [batch, heads_kv] contiguous each, with WB_E4M3: an element times its factor is the value.
     Query head h takes the factor of its key/value head. NULL with every other dtype. */
  const float* descale_q;
  const float* descale_k;
  const float* descale_v;
} wb_sdpa_args;

/* One backward. Tensors are shaped as those of the forward that made out and lse; dq, dk and dv
 * have q's dtype, every element of them is written. A row with no key left gives zero gradients. */
typedef struct wb_sdpa_backward_args {
  size_t struct_size;
  const void* q;
  const void* k;
  const void* v;
  const void* out;  /* the forward's */
  const float* lse; /* the forward's, shaped as in wb_sdpa_args */
  const void* dout; /* gradient of out, in its dtype */
  void* dq;
  void* dk;
  void* dv;
  float* dsink;      /* [heads_q]; NULL where there is no sink */
  const float* sink; /* as in wb_sdpa_args */
  const void* mask;  /* NULL without a mask; it gets no gradient */
  void* workspace;   /* as in wb_sdpa_args */
  void* stream;      /* as in wb_sdpa_args */
  int32_t threads;   /* as in wb_sdpa_args */
} wb_sdpa_backward_args;

typedef struct wb_sdpa_plan wb_sdpa_plan; /* opaque, owned by the variant */

/* Host set-up for one problem: tensor maps, kernel attributes, thread pools. Returns WB_UNSUPPORTED
 * when the problem is outside the variant's reach. *plan is NULL unless WB_OK. */
WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan);

/* Bytes of workspace that one call of this plan needs (0 for none): of device memory for CUDA, of
 * host memory for the CPU. */
WB_SDPA_EXPORT size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan);

/* Runs the problem once. CUDA: enqueues on args->stream only; capturable; no allocation, no
 * synchronisation, no legacy stream. CPU: returns when out is written; threads it uses must not
 * spin after the return, and may not be started here. */
WB_SDPA_EXPORT int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args);

/* The gradients of one problem, for a plan whose problem says pass = WB_BACKWARD; the rules of
 * wb_sdpa_forward hold. Optional: a variant that does not export it has no backward. */
WB_SDPA_EXPORT int wb_sdpa_backward(wb_sdpa_plan* plan, const wb_sdpa_backward_args* args);

WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan* plan);

/* The text of the last failure on this thread; never NULL; valid until the next call. */
WB_SDPA_EXPORT const char* wb_sdpa_last_error(void);

/* The id given at compile time through -DWB_BUILD_ID="...": proof of which artifact is loaded. */
WB_SDPA_EXPORT const char* wb_sdpa_build_id(void);

/* ---- for kernels: what a caller of either version asks for ---------------------------------- */

/* What the structs of a version 1 caller hold; one that gives less is no caller of this ABI. */
#define WB_SDPA_PROBLEM_V1_BYTES offsetof(wb_sdpa_problem, pass)
#define WB_SDPA_ARGS_V1_BYTES offsetof(wb_sdpa_args, sink)

/* A copy with zeros in the fields that the caller's struct does not have: what a plan keeps. The
 * caller's struct has WB_SDPA_PROBLEM_V1_BYTES at least. */
static inline wb_sdpa_problem wb_sdpa_whole_problem(const wb_sdpa_problem* problem) {
  wb_sdpa_problem whole;
  memset(&whole, 0, sizeof whole);
  memcpy(&whole, problem,
         problem->struct_size < sizeof whole ? problem->struct_size : sizeof whole);
  whole.struct_size = sizeof whole;
  return whole;
}

/* NULL when the problem is a dense forward, all that version 1 could say, of a version that this
 * header knows; else what it asks for beyond that, for wb_sdpa_last_error. A kernel that can do no
 * more refuses with WB_UNSUPPORTED in one line. The same precondition. */
static inline const char* wb_sdpa_beyond_dense_forward(const wb_sdpa_problem* problem) {
  const wb_sdpa_problem p = wb_sdpa_whole_problem(problem);
  if (p.abi_version < 1 || p.abi_version > WB_SDPA_ABI_VERSION) {
    return "this kernel does not know the ABI version";
  }
  if (p.pass != WB_FORWARD) return "a backward is not supported";
  if (p.has_window != 0 || p.window_left != 0 || p.window_right != 0) {
    return "a window is not supported";
  }
  if (p.softcap != 0.0) return "a softcap is not supported";
  if (p.page_table != NULL || p.page_size != 0 || p.total_pages != 0 || p.page_table_stride != 0) {
    return "paged keys and values are not supported";
  }
  if (p.cu_seqlens_q != NULL || p.cu_seqlens_kv != NULL || p.kv_lens != NULL || p.total_q != 0 ||
      p.total_kv != 0) {
    return "packed sequences are not supported";
  }
  if (p.kv_shared != 0) return "shared keys and values are not supported";
  if (p.dtype == WB_E4M3) return "e4m3 is not supported";
  if (p.dtype_out != 0) return "an out of another dtype is not supported";
  return NULL;
}

/* The same for what a call brings: a sink or descales. The caller's struct has
 * WB_SDPA_ARGS_V1_BYTES at least. */
static inline const char* wb_sdpa_args_beyond_dense_forward(const wb_sdpa_args* args) {
  wb_sdpa_args a;
  memset(&a, 0, sizeof a);
  memcpy(&a, args, args->struct_size < sizeof a ? args->struct_size : sizeof a);
  if (a.sink != NULL) return "a sink is not supported";
  if (a.descale_q != NULL || a.descale_k != NULL || a.descale_v != NULL) {
    return "descales are not supported";
  }
  return NULL;
}

#ifdef __cplusplus
}
#endif
#endif
