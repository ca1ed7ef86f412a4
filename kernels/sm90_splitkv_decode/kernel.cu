// SPDX-License-Identifier: MIT
// sm90_splitkv_decode: one to sixteen packed query rows against a long KV cache, one launch.
//
// Idea. Decode is bound by reading K and V once. The query rows that share a KV head (Sq x group)
// are packed into one tile; the keys are split over the blocks of a cluster so that every SM reads,
// and over the warps of a block. A warp is alone with its keys: it fetches them with cp.async into
// its own ring (whole 256-byte rows, neighbouring warps neighbouring rows), waits for nobody, keeps
// its own running softmax, and meets the others only in the merge, which goes through distributed
// shared memory in the same launch.
//
// v1 (now sm90_splitkv_chunked) loaded tiles with the copy engine into one ring of a block. It lost
// to cuDNN by 10 % on large caches (each 256-byte row was read as two 128-byte halves, and 192 KB
// in flight an SM is more than the memory orders well) and by latency on small ones (descriptor
// fetch, two barrier handshakes). v2, this file, predicted: 1 us less on small caches, 4.4 TB/s or
// more on large ones. Measured: docs/kernels.md.

#include "cluster_merge.cuh"
#include "cp_async.cuh"
#include "griddepcontrol.cuh"
#include "mbarrier.cuh"
#include "packed_rows.cuh"
#include "plan.cuh"
#include "split_choice.cuh"

#include <algorithm>
#include <cmath>
#include <new>

#ifndef CLUSTER_RANKS  // blocks of a cluster; with MERGED_CLUSTERS 0 chosen by the waves they make
#define CLUSTER_RANKS 0
#endif
#ifndef MERGED_CLUSTERS  // clusters of a head, merged through the workspace
#define MERGED_CLUSTERS 0
#endif
#ifndef BLOCK_WARPS  // warps of a block
#define BLOCK_WARPS 8
#endif
#ifndef RING_STAGES  // steps of 16 keys that a warp has under way at 128 columns; others in
                     // proportion
#define RING_STAGES 2
#endif
#ifndef EVICT_FIRST  // 1: K and V are the first to leave the L2
#define EVICT_FIRST 0
#endif
#ifndef EARLY_START  // start while the previous kernel drains: 0 never, 1 where it pays, 2 always
#define EARLY_START 1
#endif

namespace {

using namespace wb::gpu;

struct Params {
  MergeParams merge;
  PackedRows rows;
  const void* k;
  const void* v;
  wb_strides sk, sv;
  int heads_kv, dim_v;
};

// BPS blocks are meant to share an SM; each warp has `Stages` steps of 128 columns under way.
template <typename T_, int DP_, int NT_, int Stages, int BPS_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, NT = NT_, MK = 1, BPS = BPS_;
  static constexpr int WK = BLOCK_WARPS;
  static constexpr int STAGES = Stages * 128 / DP > 0 ? Stages * 128 / DP : 1;
  static constexpr int k_rows = 8 * NT;
  static constexpr int k_threads = 32 * WK;
  static constexpr int k_step = 16;                     // keys of a warp's step
  static constexpr int k_line = DP * 2;                 // bytes of a key in shared memory
  static constexpr int k_tile_bytes = k_step * k_line;  // K or V of a step
  static constexpr int k_partial_stride = DP + 4;
  static constexpr int k_partial_bytes = k_rows * k_partial_stride * 4;
  static constexpr int k_ring_bytes = 2 * STAGES * k_tile_bytes > k_partial_bytes
                                          ? 2 * STAGES* k_tile_bytes
                                          : (k_partial_bytes + 127) / 128 * 128;
  static constexpr int k_partial_warp = k_ring_bytes / 4;  // a warp's partial overlays its ring
  static constexpr int k_merge = WK * k_ring_bytes;        // then what peers push into
  static constexpr int k_barrier = k_merge + MergeSmem<Shape>::k_bytes;
  static constexpr int k_smem_bytes = k_barrier + 16;
};

// One warp fetches 16 keys from `first` on: whole rows, 512 bytes an instruction.
template <class S>
__device__ __forceinline__ void load_keys(uint32_t smem, const typename S::T* src, int64_t stride,
                                          int first, int seq_kv, int dim, int lane) {
#if EVICT_FIRST
  const uint64_t policy = createpolicy_evict_first();
#endif
  constexpr int units = S::DP / 8;
  constexpr int rows = 32 / units > 0 ? 32 / units : 1;  // keys an instruction covers
  constexpr int columns = units > 32 ? units / 32 : 1;
  const int unit = lane % (units / columns), row = lane / (units / columns);
#pragma unroll
  for (int i = 0; i < S::k_step; i += rows) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int line = i + row, u = unit + 32 * c;
      const bool valid = first + line < seq_kv && u * 8 < dim;
      const typename S::T* from = src + (valid ? (first + line) * stride + u * 8 : 0);
#if EVICT_FIRST
      cp_async_cg_zfill_hint(smem + line * S::k_line + ((u ^ (line & 7)) << 4), from, valid,
                             policy);
#else
      cp_async_cg_zfill(smem + line * S::k_line + ((u ^ (line & 7)) << 4), from, valid);
#endif
    }
  }
}

// Walks the warp's steps first, first + WK, ... below `last`.
template <class S>
__device__ __forceinline__ void walk_keys(WarpState<S>& w, const Params& p, const typename S::T* k,
                                          const typename S::T* v, uint32_t ring, int first,
                                          int last, int lane) {
  const auto load_k = [&](int step, int slot) {
    load_keys<S>(ring + 2 * slot * S::k_tile_bytes, k, p.sk.row, step * S::k_step, p.rows.seq_kv,
                 p.rows.dim, lane);
  };
  const auto load_v = [&](int step, int slot) {
    load_keys<S>(ring + (2 * slot + 1) * S::k_tile_bytes, v, p.sv.row, step * S::k_step,
                 p.rows.seq_kv, p.dim_v, lane);
  };
  const auto line = [](uint32_t tile, int row, int unit) {
    return tile + row * S::k_line + ((unit ^ (row & 7)) << 4);
  };
#pragma unroll
  for (int stage = 0; stage < S::STAGES; ++stage) {
    const int step = first + stage * S::WK;
    if (step < last) load_k(step, stage);
    cp_async_commit_group();
    if (step < last) load_v(step, stage);
    cp_async_commit_group();
  }
  load_query<S>(w, p.rows, blockIdx.z / p.heads_kv, blockIdx.z % p.heads_kv, blockIdx.y * S::k_rows,
                lane);
  int slot = 0;
  for (int step = first; step < last; step += S::WK) {
    const uint32_t k_at = ring + 2 * slot * S::k_tile_bytes, v_at = k_at + S::k_tile_bytes;
    const int next = step + S::STAGES * S::WK;
    float s[1][S::NT][4];
    uint32_t prob[1][S::NT][2];
    cp_async_wait_group<2 * S::STAGES - 1>();
    __syncwarp();  // the other lanes' parts of K have landed too
    score<S>(
        s, w, [&](int row, int unit) { return line(k_at, row, unit); }, lane, p.rows.scale_log2);
    __syncwarp();  // K's readers are done
    if (next < last) load_k(next, slot);
    cp_async_commit_group();
    const int first_key = step * S::k_step;
    if (first_key + S::k_step - 1 > w.least_limit) mask_scores<S>(s, w, first_key, lane);
    softmax<S>(prob, s, w);
    cp_async_wait_group<2 * S::STAGES - 1>();
    __syncwarp();
    accumulate<S>(
        w, prob, [&](int row, int unit) { return line(v_at, row, unit); }, lane);
    __syncwarp();
    if (next < last) load_v(next, slot);
    cp_async_commit_group();
    if (++slot == S::STAGES) slot = 0;
  }
  cp_async_wait_group<0>();
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS) splitkv_decode(const Params p) {
  using T = typename S::T;
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem), barrier = base + S::k_barrier;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = blockIdx.y * S::k_rows;
  const int batch = blockIdx.z / p.heads_kv, head_kv = blockIdx.z % p.heads_kv;
  const int live_rows = min(S::k_rows, p.rows.rows - first_row);

  // Keys that the last row of this block may still see, then this split's share of the steps.
  const int64_t last_query = (first_row + live_rows - 1) / p.rows.group;
  const int keys =
      int(max(int64_t(0), min(int64_t(p.rows.seq_kv), last_query + p.rows.causal_offset + 1)));
  const int steps = (keys + S::k_step - 1) / S::k_step;
  const int first = int(int64_t(steps) * blockIdx.x / gridDim.x);
  const int last = int(int64_t(steps) * (blockIdx.x + 1) / gridDim.x);

  const Slice slice = slice_of<S>(cluster_nctarank(), cluster_ctarank(), live_rows);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(barrier, merge_bytes(slice, live_rows));
  }
  __syncthreads();
  barrier_cluster_arrive();  // peers may push into this block from here on
#if EARLY_START
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
#endif

  const T* k = static_cast<const T*>(p.k) + batch * p.sk.batch + head_kv * p.sk.head;
  const T* v = static_cast<const T*>(p.v) + batch * p.sv.batch + head_kv * p.sv.head;
  float* partial = reinterpret_cast<float*>(smem);
  float2* warp_ml = reinterpret_cast<float2*>(smem + S::k_merge + MergeSmem<S>::k_warp_ml);
  WarpState<S> w;
  walk_keys<S>(w, p, k, v, base + warp * S::k_ring_bytes, first + warp, last, lane);
  __syncwarp();  // this warp's ring is read: its partial overlays it
  store_warp_partial<S>(w, partial, warp_ml, 0, warp, lane);
  __syncthreads();
  barrier_cluster_wait();
  merge_and_store<S>(p.merge, partial, smem + S::k_merge, barrier, batch, head_kv, first_row,
                     live_rows, slice);
}

// ---- host ----------------------------------------------------------------------------------

using KernelPointer = void (*)(Params);

// One compiled shape, as the host sees it.
struct Entry {
  KernelPointer kernel;
  int rows, smem_bytes, row_quads;
};

template <class S>
Entry entry_of() {
  return {&splitkv_decode<S>, S::k_rows, S::k_smem_bytes, S::DP / 4};
}

// Many heads come in waves: two light blocks an SM overlap one's end with the other's start.
template <typename T, int DP>
Entry entry_for_rows(int64_t rows, bool many) {
  if (rows > 8) return entry_of<Shape<T, DP, 2, RING_STAGES, 1>>();
  if constexpr (DP <= 128) {
    if (many) return entry_of<Shape<T, DP, 1, 1, 2>>();
  }
  return entry_of<Shape<T, DP, 1, RING_STAGES, 1>>();
}

template <typename T>
Entry entry_for(int64_t dim, int64_t rows, bool many) {
  if (dim <= 64) return entry_for_rows<T, 64>(rows, many);
  if (dim <= 128) return entry_for_rows<T, 128>(rows, many);
  return entry_for_rows<T, 256>(rows, many);
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  dim3 grid;
  int ranks;
  bool early_start;
  MergeWorkspace workspace;
};

namespace {

bool rows_are_vectors(wb_strides s, int64_t batch, int64_t heads, int64_t rows) {
  return (batch == 1 || s.batch % 8 == 0) && (heads == 1 || s.head % 8 == 0) &&
         (rows == 1 || s.row % 8 == 0);
}

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: no masks");
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > 256 || p.dim_v > 256) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: head dims are multiples of 8 up to 256");
  }
  if (!rows_are_vectors(p.k, p.batch, p.heads_kv, p.seq_kv) ||
      !rows_are_vectors(p.v, p.batch, p.heads_kv, p.seq_kv) ||
      !rows_are_vectors(p.q, p.batch, p.heads_q, p.seq_q) ||
      !rows_are_vectors(p.out, p.batch, p.heads_q, p.seq_q)) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: strides must be multiples of 8 elements");
  }
  if (p.seq_kv > (int64_t(1) << 30) || p.seq_q > (int64_t(1) << 20) ||
      p.batch * p.heads_kv > 65535 || p.seq_q * (p.heads_q / p.heads_kv) > int64_t(65535) * 8) {
    return fail(WB_UNSUPPORTED,
                "sm90_splitkv_decode: more rows, keys or heads than the grid holds");
  }
  return WB_OK;
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  const int64_t group = p.heads_q / p.heads_kv, rows = p.seq_q * group;
  const int64_t dim = std::max(p.dim, p.dim_v);
  int device = 0, sm_count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return fail_cuda("reading the device's attributes", error);
  const bool many = p.batch * p.heads_kv >= sm_count * 3 / 2;
  plan.entry = p.dtype == WB_F16 ? entry_for<__half>(dim, rows, many)
                                 : entry_for<__nv_bfloat16>(dim, rows, many);
  const Entry& entry = plan.entry;
  error = cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               entry.smem_bytes);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  const int64_t row_blocks = (rows + entry.rows - 1) / entry.rows;
  const int64_t heads = p.batch * p.heads_kv, units = heads * row_blocks;
  const int64_t steps = (p.seq_kv + 16 * BLOCK_WARPS - 1) / (16 * BLOCK_WARPS);
  const SplitChoice choice =
      choose_splits(units, steps, sm_count / 2, CLUSTER_RANKS, MERGED_CLUSTERS);
  plan.ranks = choice.ranks;
  plan.grid = dim3(choice.ranks * choice.clusters, unsigned(row_blocks), unsigned(heads));
  const int64_t kv_bytes = heads * p.seq_kv * (p.dim + p.dim_v) * 2;
  // A cluster that starts early takes the SMs that happen to be free, and sits badly for a long
  // call.
  plan.early_start = EARLY_START == 2 ||
                     (EARLY_START == 1 && (choice.ranks <= 2 || kv_bytes < (int64_t(32) << 20)));
  plan.workspace = merge_workspace(choice, units, entry.rows, entry.row_quads);

  Params& k = plan.params;
  k.rows.sq = p.q;
  k.rows.group = int(group);
  k.rows.seq_kv = int(p.seq_kv);
  k.rows.dim = int(p.dim);
  k.rows.rows = int(rows);
  k.rows.causal_offset = p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
                         : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                                          : int(p.seq_kv - p.seq_q);
  k.rows.scale_log2 = float(p.scale * 1.4426950408889634);
  k.sk = p.k;
  k.sv = p.v;
  k.heads_kv = int(p.heads_kv);
  k.dim_v = int(p.dim_v);
  k.merge.so = p.out;
  k.merge.lse_batch_stride = p.heads_q * p.seq_q;
  k.merge.group = int(group);
  k.merge.seq_q = int(p.seq_q);
  k.merge.dim_v = int(p.dim_v);
  return WB_OK;
}

}  // namespace

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  int status = check_problem(problem, out);
  if (status == WB_OK) status = check_reach(*problem);
  if (status != WB_OK) return status;
  wb_sdpa_plan* plan = new (std::nothrow) wb_sdpa_plan{};
  if (plan == nullptr) return fail(WB_FAILED, "plan_create: out of host memory");
  plan->problem = *problem;
  status = prepare(*plan);
  if (status != WB_OK) {
    delete plan;
    return status;
  }
  *out = plan;
  return WB_OK;
}

extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan) {
  return plan->workspace.bytes;
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  Params params = plan->params;
  params.rows.q = args->q;
  params.k = args->k;
  params.v = args->v;
  params.merge.out = args->out;
  params.merge.lse = plan->problem.want_lse ? args->lse : nullptr;
  if (plan->workspace.bytes > 0) {
    if (args->workspace == nullptr) return fail(WB_FAILED, "forward: the workspace is missing");
    set_workspace(params.merge, plan->workspace, args->workspace);
  }
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config = cluster_config(attributes[0], plan->grid, 32 * BLOCK_WARPS,
                                             size_t(plan->entry.smem_bytes), plan->ranks);
  config.stream = static_cast<cudaStream_t>(args->stream);
  allow_early_start(config, attributes, plan->early_start);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching splitkv_decode", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
