// SPDX-License-Identifier: MIT
// sm90_splitkv_decode: one to sixteen packed query rows against a long KV cache, one launch.
//
// Idea. Decode is bound by reading K and V once. The query rows that share a KV head (Sq x group)
// are packed into one tile; the keys are split over the blocks of a cluster so that every SM reads,
// and over the warps of a block. A warp is alone with its keys: it fetches them with cp.async into
// its own ring (whole rows, neighbouring warps neighbouring rows), waits for nobody, keeps its own
// running softmax, and meets the others only in the merge, in the same launch.
//
// Data flow. Global memory -> the warp's ring (lines as wide as the head dim, to 64, 80, 96, 128 or
// 256 columns) -> ldmatrix -> mma -> registers -> the block's sums by quads of columns
// (quad_merge.cuh) -> their owners in the cluster by st.async -> with several clusters the
// workspace, as messages whose 8-byte pieces carry their flags; the last cluster by number adds up.
//
// Floor. Bytes of K and V over what memory or L2 give, plus 2.5 us of launch, first load, merge and
// store. What stands in the way of it differs:
//  - to 128 columns the chain of a step (wait, 4 dependent products, shuffles, exponential): one SM
//    reads 62 GB/s in steps of 16 keys at D 64, 91 at D 128, where its port gives 114. So steps
//    have 32 keys to 96 columns, and 64 units get 128 blocks, not 64;
//  - at 256 columns, and over several clusters, the merge: by quads, several a thread, it takes 0.3
//    to 0.5 us less, over clusters 1.6; by messages instead of tickets 0.2 to 1.1 us less again;
//  - for few units the number of SMs: clusters of 2 or 8 and the workspace.
//
// v1 (sm90_splitkv_chunked, kept in sessions/h200-part1) loaded tiles with TMA into one ring of a
// block. v2 has rings of warps. v3 works out what does not depend on data before the wait for the
// previous kernel, merges by quads and keeps a part of what does not fit the L2 there for the next
// call. v4: exact widths, two key tiles a step, quads everywhere, splits by bytes; predicted 1.2 to
// 1.3 of v3 at D 64 to 96 and for few units, measured 1.0 to 1.6, in the mean 1.22 on an H200 and
// 1.19 on an H100. v5, this file: over clusters a store and a read instead of store, fence, ticket,
// its reset, fence and read. Left: D 112 (padded to 128); 9 to 16 rows above 64 columns
// (registers).
//
// Worklog
//   measured  v5 on an H200, hot burst: predicted 1.12x of v4 on eight problems, 1.07x [1.05,
//             1.08], and 1.27x at best (sessions/h200-decode-merge); as many blocks as SMs for 8 to
//             16 units were 1.05x to 1.20x in repeated calls, but 0.81x to 0.94x of a call on
//             fresh inputs, and are left out (sessions/h200-decode-clusters). Beside PyTorch's
//             backends: sessions/h200-few-queries, and D 128 in sessions/h200-part1-abi2. Trials:
//             docs/results/kernel_trials.md.

#include "cuda/plan.cuh"
#include "sm90/split_choice.cuh"
#include "splitkv_decode.cuh"

#include <algorithm>

#ifndef CLUSTER_RANKS  // blocks of a cluster; with MERGED_CLUSTERS 0 chosen by units and bytes
#define CLUSTER_RANKS 0
#endif
#ifndef MERGED_CLUSTERS  // clusters of a head, merged through the workspace
#define MERGED_CLUSTERS 0
#endif
#ifndef RING_STAGES  // steps of 16 keys that a warp has under way at 128 columns; others in
                     // proportion
#define RING_STAGES 2
#endif
#ifndef KEY_TILES  // 16-key tiles of a warp's step, to 128 columns and 8 rows; 0: two, to 96
                   // columns
#define KEY_TILES 0
#endif
#ifndef KEEP_MB  // of K and V that do not fit the L2, as much stays there; 0: no hints
#define KEEP_MB 20
#endif
#ifndef QUAD_MERGE  // 0: always the general merge
#define QUAD_MERGE 1
#endif

namespace {

using namespace wb::gpu;

using KernelPointer = void (*)(Params);

// One compiled shape, as the host sees it. `small`: its form for rows in one cluster of up to 8.
struct Entry {
  KernelPointer small, any;
  int rows, smem_bytes, row_quads;
};

template <class S>
Entry entry_of() {
  constexpr Merge any = QUAD_MERGE != 0 && S::BPS == 1 ? Merge::spread : Merge::general;
  constexpr Merge small = any == Merge::spread && k_quads<S> == 1 ? Merge::cluster : any;
  return {&splitkv_decode<S, small>, &splitkv_decode<S, any>, S::k_rows, S::k_smem_bytes,
          S::DP / 4};
}

// Many heads come in waves: two light blocks an SM overlap one's end with the other's start.
template <typename T, int DP>
Entry entry_for_rows(int64_t rows, bool many) {
  constexpr int tiles = DP > 128 ? 1 : KEY_TILES > 0 ? KEY_TILES : DP > 96 ? 1 : 2;
  if (rows > 8) return entry_of<Shape<T, DP, 2, 1, 16 * RING_STAGES, 1>>();
  if constexpr (DP <= 128) {
    if (many) return entry_of<Shape<T, DP, 1, 1, 16, 2>>();
  }
  return entry_of<Shape<T, DP, 1, tiles, 16 * RING_STAGES, 1>>();
}

template <typename T>
Entry entry_for(int64_t dim, int64_t rows, bool many) {
  if (dim <= 64) return entry_for_rows<T, 64>(rows, many);
  if (dim <= 80) return entry_for_rows<T, 80>(rows, many);
  if (dim <= 96) return entry_for_rows<T, 96>(rows, many);
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

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: no masks");
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > 256 || p.dim_v > 256) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_decode: head dims are multiples of 8 up to 256");
  }
  if (!used_strides_divide_by(p.k, p.batch, p.heads_kv, p.seq_kv, 8) ||
      !used_strides_divide_by(p.v, p.batch, p.heads_kv, p.seq_kv, 8) ||
      !used_strides_divide_by(p.q, p.batch, p.heads_q, p.seq_q, 8) ||
      !used_strides_divide_by(p.out, p.batch, p.heads_q, p.seq_q, 8)) {
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

// Whether a cluster of `ranks` blocks for each of `units` is resident at once.
bool fit_at_once(const Entry& entry, int64_t units, int ranks) {
  cudaLaunchAttribute attribute;
  const cudaLaunchConfig_t config =
      cluster_config(attribute, dim3(unsigned(ranks)), 32 * BLOCK_WARPS, entry.smem_bytes, ranks);
  int resident = 0;
  return set_limits(entry.small, entry.smem_bytes) == cudaSuccess &&
         cudaOccupancyMaxActiveClusters(&resident, entry.small, &config) == cudaSuccess &&
         resident >= units;
}

// What a block reads while clusters of a unit merge through the workspace.
int64_t bytes_of_a_merge(int64_t units) {
  if (FLAG_MERGE != 0) return int64_t(128) << 10;
  return int64_t(units <= 2 ? 256 : 192) << 10;
}

// How to split `units` heads times row blocks of `tiles` tiles of keys each, a tile of `tile_bytes`
// being what a block reads at once. Measured on an H200 (docs/results/kernel_trials.md, `splits`):
// about half the SMs draw all the bandwidth there is; where a unit would have one block, two or
// three are quicker as long as all are resident, and where it would have three, four. Where a
// cluster of 8 a unit does not reach half the SMs, more clusters merge through the workspace, if
// the tiles that this saves each block take longer than that merge.
SplitChoice choose_decode_splits(const Entry& entry, int64_t units, int64_t tiles, int64_t sms,
                                 int64_t tile_bytes) {
  if (CLUSTER_RANKS > 0 || MERGED_CLUSTERS > 0) {
    return choose_splits(units, tiles, 1, CLUSTER_RANKS, MERGED_CLUSTERS);
  }
  const auto tiles_of = [&](int64_t parts) { return (tiles + parts - 1) / parts; };
  int64_t wanted = std::max<int64_t>(1, sms / 2 / units);
  if (wanted == 1 && 2 * units <= sms) {
    wanted = 3 * units <= sms && fit_at_once(entry, units, 3) ? 3 : 2;
  } else if (wanted == 3) {
    wanted = 4;
  }
  const int64_t ranks = std::min({wanted, tiles, int64_t(k_portable_cluster)});
  if (wanted <= k_portable_cluster) return {int(ranks), 1};
  const SplitChoice few = units <= 2 ? SplitChoice{8, int(std::min(wanted, tiles) / 8)}
                                     : SplitChoice{2, int(std::min(sms / units, tiles / 4) / 2)};
  const int parts = few.ranks * std::min(few.clusters, k_max_parts);
  if (parts == 0 || (tiles_of(ranks) - tiles_of(parts)) * tile_bytes < bytes_of_a_merge(units)) {
    return {int(ranks), 1};
  }
  return {few.ranks, parts / few.ranks};
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
  const int64_t tile_keys = 16 * BLOCK_WARPS / (entry.row_quads > 32 ? 2 : 1);  // to 64 KB
  const int64_t tiles = (p.seq_kv + tile_keys - 1) / tile_keys;
  const SplitChoice choice =
      choose_decode_splits(entry, units, tiles, device.sm_count, tile_keys * entry.row_quads * 16);
  plan.kernel = choice.clusters == 1 && choice.ranks <= k_parts_at_once ? entry.small : entry.any;
  const cudaError_t error = set_limits(plan.kernel, entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);
  plan.ranks = choice.ranks;
  plan.grid = dim3(choice.ranks * choice.clusters, unsigned(row_blocks), unsigned(heads));
  const int64_t kv_bytes = heads * p.seq_kv * (p.dim + p.dim_v) * 2;
  // A cluster that starts early takes the SMs that happen to be free, and sits badly for a long
  // call.
  plan.early_start = EARLY_START == 2 ||
                     (EARLY_START == 1 && (choice.ranks <= 3 || kv_bytes < (int64_t(32) << 20)));
  constexpr int pieces = FLAG_MERGE != 0 ? k_message_pieces : 1;
  plan.workspace = merge_workspace(choice, units, entry.rows, pieces * entry.row_quads);
  plan.params.kept_256 = kept_share(device.ordinal, kv_bytes, KEEP_MB);

  Params& k = plan.params;
  k.rows.sq = p.q;
  k.rows.group = int(group);
  k.rows.seq_kv = int(p.seq_kv);
  k.rows.dim = int(p.dim);
  k.rows.rows = int(rows);
  k.rows.causal_offset = causal_offset_of(p);
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
  if (const int status = check_args(plan->problem, args); status != WB_OK) return status;
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
                                             plan->entry.smem_bytes, plan->ranks, args->stream);
  allow_early_start(config, attributes, plan->early_start);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching splitkv_decode", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
