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
// more on large ones. v3 shortens what a small cache pays once: everything that does not depend on
// data is worked out before the wait for the previous kernel, and the merge has a form with one
// quad a thread (quad_merge.cuh). Where K and V do not fit the L2, a part of them is kept there for
// the next call and the rest is read as the first to leave. Measured: docs/kernels.md.

#include "plan.cuh"
#include "split_choice.cuh"
#include "splitkv_decode.cuh"

#include <algorithm>
#include <cmath>

#ifndef CLUSTER_RANKS  // blocks of a cluster; with MERGED_CLUSTERS 0 chosen by the waves they make
#define CLUSTER_RANKS 0
#endif
#ifndef MERGED_CLUSTERS  // clusters of a head, merged through the workspace
#define MERGED_CLUSTERS 0
#endif
#ifndef RING_STAGES  // steps of 16 keys that a warp has under way at 128 columns; others in
                     // proportion
#define RING_STAGES 2
#endif
#ifndef KEEP_MB  // of K and V that do not fit the L2, as much stays there; 0: no hints
#define KEEP_MB 20
#endif
#ifndef QUAD_MERGE  // 0: always the general merge
#define QUAD_MERGE 1
#endif

namespace {

using namespace wb::gpu;

// ---- host
// ----------------------------------------------------------------------------------

using KernelPointer = void (*)(Params);

// One compiled shape, as the host sees it. `quads` is its form for a head in one small cluster.
struct Entry {
  KernelPointer kernel, quads;
  int rows, smem_bytes, row_quads;
};

template <class S>
Entry entry_of() {
  KernelPointer quads = nullptr;
  if constexpr (QUAD_MERGE != 0 && S::BPS == 1 && fits_quad_merge<S>) {
    quads = &splitkv_decode<S, true>;
  }
  return {&splitkv_decode<S, false>, quads, S::k_rows, S::k_smem_bytes, S::DP / 4};
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
  KernelPointer kernel;
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

cudaError_t set_limits(KernelPointer kernel, int smem_bytes) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  const int64_t group = p.heads_q / p.heads_kv, rows = p.seq_q * group;
  const int64_t dim = std::max(p.dim, p.dim_v);
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;
  const bool many = p.batch * p.heads_kv >= device.sm_count * 3 / 2;
  plan.entry = p.dtype == WB_F16 ? entry_for<__half>(dim, rows, many)
                                 : entry_for<__nv_bfloat16>(dim, rows, many);
  const Entry& entry = plan.entry;
  const int64_t row_blocks = (rows + entry.rows - 1) / entry.rows;
  const int64_t heads = p.batch * p.heads_kv, units = heads * row_blocks;
  const int64_t steps = (p.seq_kv + 16 * BLOCK_WARPS - 1) / (16 * BLOCK_WARPS);
  const SplitChoice choice =
      choose_splits(units, steps, device.sm_count / 2, CLUSTER_RANKS, MERGED_CLUSTERS);
  cudaError_t error = set_limits(entry.kernel, entry.smem_bytes);
  if (error == cudaSuccess && entry.quads != nullptr) {
    error = set_limits(entry.quads, entry.smem_bytes);
  }
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);
  plan.kernel = entry.quads != nullptr && choice.clusters == 1 && choice.ranks <= k_quad_ranks
                    ? entry.quads
                    : entry.kernel;
  plan.ranks = choice.ranks;
  plan.grid = dim3(choice.ranks * choice.clusters, unsigned(row_blocks), unsigned(heads));
  const int64_t kv_bytes = heads * p.seq_kv * (p.dim + p.dim_v) * 2;
  // A cluster that starts early takes the SMs that happen to be free, and sits badly for a long
  // call.
  plan.early_start = EARLY_START == 2 ||
                     (EARLY_START == 1 && (choice.ranks <= 2 || kv_bytes < (int64_t(32) << 20)));
  plan.workspace = merge_workspace(choice, units, entry.rows, entry.row_quads);
  plan.params.kept_256 = kept_share(device.ordinal, kv_bytes, KEEP_MB);

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
  return create_plan(problem, out, check_reach, prepare);
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
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching splitkv_decode", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
