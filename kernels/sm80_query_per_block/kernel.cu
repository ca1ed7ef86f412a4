// SPDX-License-Identifier: MIT
// sm80_query_per_block: the naive form, a thread block for each query row.
//
// Worklog
//   idea      the plainest way to fill a GPU: B Hq Sq blocks, nothing shared between them. A thread
//             scores one key of a step of THREADS keys; then the threads turn to the value
//             dimension and add the step's rows of V, a running softmax between the two
//   parent    none: what the tiled kernels are measured against
//   costs     every query row reads all of its K and V again (no reuse but the caches'), a warp
//             reads 32 rows of K at once, and with Dv below THREADS the rest idles over V
//   compiled  sm_90, nvcc 13.0, THREADS 256: 48 registers, no spills, no stack
//   measured  H200, hot burst, over PyTorch's fastest backend: 0.61x at one head of S 64, 0.0025x
//             at 128 heads of S 512, 0.040x over 11 problems (sessions/ladder)

#include "cuda/scalar_plan.cuh"

#ifndef THREADS
#define THREADS 256
#endif

namespace {

using namespace wb::gpu;

constexpr int k_warps = THREADS / 32;
constexpr int64_t k_most_dim = 8192;
static_assert(THREADS % 32 == 0);

// Shared memory: q[dim], out[dim_v], a weight a thread, and a value a warp for each reduction.
struct SharedRow {
  float *q, *acc, *weights, *warp_max, *warp_sum;
};

__device__ SharedRow shared_row(const ScalarParams& p) {
  SharedRow s;
  s.q = scalar_smem;
  s.acc = s.q + p.dim;
  s.weights = s.acc + p.dim_v;
  s.warp_max = s.weights + THREADS;
  s.warp_sum = s.warp_max + k_warps;
  return s;
}

int smem_bytes(int64_t dim, int64_t dim_v) {
  return int(dim + dim_v + THREADS + 2 * k_warps) * int(sizeof(float));
}

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// Over the block; every thread gets the result. What other threads wrote to shared memory before is
// there afterwards. per_warp may be used again after another reduction.
template <class Combine>
__device__ float over_block(float x, float* per_warp, Combine combine) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x = combine(x, __shfl_xor_sync(~0u, x, lanes));
  if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = x;
  __syncthreads();
  x = per_warp[0];
#pragma unroll
  for (int warp = 1; warp < k_warps; ++warp) x = combine(x, per_warp[warp]);
  return x;
}

template <typename T>
__device__ float dot(const float* q, const T* key, int dim) {
  float sum = 0.0f;
  for (int d = 0; d < dim; ++d) sum += q[d] * float(key[d]);
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(THREADS) query_per_block(ScalarParams p) {
  const SharedRow s = shared_row(p);
  const int thread = int(threadIdx.x);
  const BlockCoord coord = block_coord(p, p.seq_q);
  const int row = coord.part;
  const T* q = static_cast<const T*>(p.q) + row_offset(p.sq, coord.batch, coord.head, row);
  const T* k = static_cast<const T*>(p.k) + row_offset(p.sk, coord.batch, coord.head_kv, 0);
  const T* v = static_cast<const T*>(p.v) + row_offset(p.sv, coord.batch, coord.head_kv, 0);
  T* out = static_cast<T*>(p.out) + row_offset(p.so, coord.batch, coord.head, row);
  const int64_t mask_row = row_offset(p.sm, coord.batch, coord.head, row);

  for (int d = thread; d < p.dim; d += THREADS) s.q[d] = float(q[d]);
  for (int d = thread; d < p.dim_v; d += THREADS) s.acc[d] = 0.0f;
  __syncthreads();

  float maximum = -INFINITY, sum = 0.0f;
  const int keys = visible_keys(p, row);
  for (int first = 0; first < keys; first += THREADS) {
    const int key = first + thread;
    float score = -INFINITY;
    if (key < keys) score = masked_score<T>(p, mask_row, key, dot(s.q, k + key * p.sk.row, p.dim));
    const float larger = fmaxf(maximum, over_block(score, s.warp_max, Larger()));
    const float shift = softmax_shift(larger);
    const float weight = expf(score - shift), alpha = expf(maximum - shift);
    s.weights[thread] = weight;
    sum = sum * alpha + over_block(weight, s.warp_sum, Sum());  // the weights are there, too
    maximum = larger;
    const int count = min(THREADS, keys - first);
    for (int d = thread; d < p.dim_v; d += THREADS) {
      float acc = s.acc[d] * alpha;
      for (int i = 0; i < count; ++i) acc += s.weights[i] * float(v[(first + i) * p.sv.row + d]);
      s.acc[d] = acc;
    }
  }
  // Each thread added up, and now stores, columns of its own.
  for (int d = thread; d < p.dim_v; d += THREADS) out[d] = normalized<T>(s.acc[d], sum);
  if (thread == 0) store_lse(p, coord.batch, coord.head, row, maximum, sum);
}

ScalarKernel kernel_of(int dtype) {
  if (dtype == WB_F16) return &query_per_block<__half>;
  if (dtype == WB_BF16) return &query_per_block<__nv_bfloat16>;
  return &query_per_block<float>;
}

}  // namespace

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  return create_scalar_plan(
      "sm80_query_per_block", problem, out, k_most_dim, [](const wb_sdpa_problem& p) {
        return ScalarLaunch{kernel_of(p.dtype), 1, THREADS, smem_bytes(p.dim, p.dim_v),
                            smem_bytes(k_most_dim, k_most_dim)};
      });
}
