// SPDX-License-Identifier: MIT
// sm80_wide_heads: the simple way with head dims of hundreds to thousands.
//
// Worklog
//   idea      three steps, all scores of a block's rows in shared memory between them: a warp a key
//             with its lanes along the head dim, a warp a row for the softmax, a thread a column of
//             V. QUERIES rows share what is read of K and V, and COLUMN_PARTS blocks share the
//             columns of the same rows, each computing the scores anew
//   parent    sm80_query_per_block
//   changed   lanes lie along the head dim, so that a warp reads K in whole lines; more rows a
//             block and more blocks a row, each as a parameter of its own
//   predicted QUERIES 1 a few times faster than the parent, where each thread reads a row of K of
//             its own. More QUERIES: as many times less traffic from K and V, and as many times
//             fewer blocks, so faster while they fill the GPU. COLUMN_PARTS: the other way round
//   costs     every column part computes all scores; the scores of all keys must fit in shared
//             memory; without tensor cores, and every element of Q is loaded for every key
//   compiled  sm_80 and sm_90a, nvcc 13.0: 56 to 62 registers with 1 row, 104 to 123 with 4, 214 to
//             254 with 16; no spills, no stack in all 40 configurations
//   measured  H200, hot burst, head dims 512 to 8192: 0.39x to 1.76x of PyTorch's fastest backend;
//             QUERIES 4 0.70x, COLUMN_PARTS 8 0.59x of the default (sessions/large-head-dims)

#include "cuda/scalar_launches.cuh"

#ifndef QUERIES
#define QUERIES 1
#endif
#ifndef COLUMN_PARTS
#define COLUMN_PARTS 1
#endif
#ifndef THREADS
#define THREADS 256
#endif

namespace {

using namespace wb::gpu;

constexpr int k_warps = THREADS / 32;
constexpr int64_t k_most_dim = 8192;
constexpr int64_t k_most_scores = 24000;  // of a block: 96 KB, which every sm_80 and newer has
constexpr int64_t k_most_blocks = (int64_t(1) << 31) - 1;
constexpr int k_unroll = QUERIES < 8 ? 4 : 2;  // loads under way, as far as registers go
static_assert(THREADS % 32 == 0 && QUERIES <= 32);

// Where a block works: the row blocks of a head lie in turn, and the column parts of each.
struct Work {
  BlockCoord coord;
  int first_row, column_part;
  int keys;  // that the last of the rows sees: the others see fewer
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Combine>
__device__ float over_warp(float x, Combine combine) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x = combine(x, __shfl_xor_sync(~0u, x, lanes));
  return x;
}

// The block's r-th row; one beyond the last is the last again, and is not stored.
__device__ int row_of(const ScalarParams& p, const Work& w, int r) {
  return min(w.first_row + r, p.seq_q - 1);
}

__device__ Work start_work(const ScalarParams& p) {
  const int row_blocks = (p.seq_q + QUERIES - 1) / QUERIES;
  Work w;
  w.coord = block_coord(p, row_blocks * COLUMN_PARTS);
  w.first_row = w.coord.part / COLUMN_PARTS * QUERIES;
  w.column_part = w.coord.part % COLUMN_PARTS;
  w.keys = visible_keys(p, row_of(p, w, QUERIES - 1));
  return w;
}

// The scores of the block's rows. A warp has every k_warps-th key.
template <typename T>
__device__ void score_keys(const ScalarParams& p, const Work& w, float* scores) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const T* k = static_cast<const T*>(p.k) + row_offset(p.sk, w.coord.batch, w.coord.head_kv, 0);
  const T* q[QUERIES];
#pragma unroll
  for (int r = 0; r < QUERIES; ++r) {
    const int row = row_of(p, w, r);
    q[r] = static_cast<const T*>(p.q) + row_offset(p.sq, w.coord.batch, w.coord.head, row);
  }
  for (int key = warp; key < w.keys; key += k_warps) {
    float dot[QUERIES] = {};
#pragma unroll k_unroll
    for (int d = lane; d < p.dim; d += 32) {
      const float of_key = float(k[key * p.sk.row + d]);
#pragma unroll
      for (int r = 0; r < QUERIES; ++r) dot[r] += float(q[r][d]) * of_key;
    }
#pragma unroll
    for (int r = 0; r < QUERIES; ++r) {
      const float sum = over_warp(dot[r], Sum());
      const int row = row_of(p, w, r);
      const int64_t mask_row = row_offset(p.sm, w.coord.batch, w.coord.head, row);
      if (lane == r) {
        scores[r * p.seq_kv + key] =
            key < visible_keys(p, row) ? masked_score<T>(p, mask_row, key, sum) : -INFINITY;
      }
    }
  }
}

// Scores to weights, and the sum of each row's.
__device__ void softmax_rows(const ScalarParams& p, const Work& w, float* scores, float* sums) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  for (int r = warp; r < QUERIES; r += k_warps) {
    float* of_row = scores + r * p.seq_kv;
    float maximum = -INFINITY, sum = 0.0f;
    for (int key = lane; key < w.keys; key += 32) maximum = fmaxf(maximum, of_row[key]);
    maximum = over_warp(maximum, Larger());
    const float shift = softmax_shift(maximum);
    for (int key = lane; key < w.keys; key += 32) {
      of_row[key] = expf(of_row[key] - shift);
      sum += of_row[key];
    }
    sum = over_warp(sum, Sum());
    if (lane != 0) continue;
    sums[r] = sum;
    if (w.first_row + r < p.seq_q && w.column_part == 0) {
      store_lse(p, w.coord.batch, w.coord.head, w.first_row + r, maximum, sum);
    }
  }
}

// The block's part of the columns of V. A thread has every THREADS-th of them.
template <typename T>
__device__ void add_values(const ScalarParams& p, const Work& w, const float* weights,
                           const float* sums) {
  const T* v = static_cast<const T*>(p.v) + row_offset(p.sv, w.coord.batch, w.coord.head_kv, 0);
  const int columns = (p.dim_v + COLUMN_PARTS - 1) / COLUMN_PARTS;
  const int begin = w.column_part * columns;
  const int end = min(begin + columns, p.dim_v);
  for (int d = begin + int(threadIdx.x); d < end; d += THREADS) {
    float acc[QUERIES] = {};
#pragma unroll k_unroll
    for (int key = 0; key < w.keys; ++key) {
      const float of_value = float(v[key * p.sv.row + d]);
#pragma unroll
      for (int r = 0; r < QUERIES; ++r) acc[r] += weights[r * p.seq_kv + key] * of_value;
    }
#pragma unroll
    for (int r = 0; r < QUERIES; ++r) {
      if (w.first_row + r >= p.seq_q) continue;
      static_cast<T*>(p.out)[row_offset(p.so, w.coord.batch, w.coord.head, w.first_row + r) + d] =
          normalized<T>(acc[r], sums[r]);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1) wide_heads(ScalarParams p) {
  const Work w = start_work(p);
  float *sums = scalar_smem, *scores = scalar_smem + QUERIES;
  score_keys<T>(p, w, scores);
  __syncthreads();
  softmax_rows(p, w, scores, sums);
  __syncthreads();
  add_values<T>(p, w, scores, sums);
}

ScalarKernel kernel_of(int dtype) {
  if (dtype == WB_F16) return &wide_heads<__half>;
  if (dtype == WB_BF16) return &wide_heads<__nv_bfloat16>;
  return &wide_heads<float>;
}

int check_reach(const wb_sdpa_problem& p) {
  const int status = check_scalar_reach("sm80_wide_heads", p, k_most_dim);
  if (status != WB_OK) return status;
  if (p.seq_kv > k_most_scores / QUERIES) {
    return fail(WB_UNSUPPORTED, "sm80_wide_heads: more keys than a block holds scores of");
  }
  const int64_t row_blocks = (p.seq_q + QUERIES - 1) / QUERIES;
  if (p.batch * p.heads_q * row_blocks > k_most_blocks / COLUMN_PARTS) {
    return fail(WB_UNSUPPORTED, "sm80_wide_heads: more blocks than the grid holds");
  }
  return WB_OK;
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  ScalarParams params;
  ScalarKernel kernel;
};

extern "C" {
int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  return create_plan(problem, out, check_reach, [](wb_sdpa_plan& plan) -> int {
    plan.params = scalar_params(plan.problem);
    plan.kernel = kernel_of(plan.problem.dtype);
    return allow_shared(plan.kernel, int(QUERIES + k_most_scores) * int(sizeof(float)));
  });
}

size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}

int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  if (plan == nullptr) return fail(WB_FAILED, "forward: no plan");
  const wb_sdpa_problem& p = plan->problem;
  ScalarParams params = plan->params;
  const int status = take_arguments(params, p, args, false);
  if (status != WB_OK) return status;
  const int64_t row_blocks = (p.seq_q + QUERIES - 1) / QUERIES;
  const int smem_bytes = QUERIES * int(1 + p.seq_kv) * int(sizeof(float));
  return launch(plan->kernel, p.batch * p.heads_q * row_blocks * COLUMN_PARTS, THREADS, smem_bytes,
                args->stream, params);
}

void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
}
