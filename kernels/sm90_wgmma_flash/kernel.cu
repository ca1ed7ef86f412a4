// SPDX-License-Identifier: MIT
// sm90_wgmma_flash: flash attention on wgmma with packed GQA rows and an optional split of the
// keys.
//
// Idea. Blocks of one or two warpgroups, 64 packed query rows each, small enough that two or three
// blocks share an SM and hide each other's softmax; TMA fills a ring of K and V tiles shared by the
// block, and one thread refills a stage one step after its last reader, so no warp is
// spent on loading. Within a warpgroup Q K^T of step j runs beside P V of step j - 1, and the
// softmax of step j beside P V. Query rows of all heads of a group are packed into the tile, so a
// chunk of 16 queries with 4 heads a group fills it. With few tiles the keys are split over a
// cluster and merged through distributed shared memory in the same launch. Where all row blocks of
// many keys are resident at once, three warpgroups share 64 rows and take every third step.
//
// Parent: sm80_mma_flash (tiles by waves), and split and merge of sm90_splitkv_chunked, which is
// kept in sessions/h200-part1 only. Predicted: 1.1x over cuDNN at B*H 128, S 512, D 64; 3x for 16
// queries on 8192 keys.
//
// Worklog
//   measured  H200, hot burst, over the fastest backend of PyTorch: 3.12x on 2 to 16 queries and
//             8192 keys, 2.85x at least (sessions/h200-part1-whole); prefill is for
//             sm90_wgmma_carry. Shared rows also to 64 columns and without a split: 1.38x to 4.6x
//             of sm90_wgmma_pingpong on 64 and 128 queries of up to 66 row blocks
//             (sessions/h200-few-rows), with steps of 128 keys at 64 columns 1.04x and 1.08x more
//             (sessions/h200-few-rows-d64); beside PyTorch 1.30x on five such problems, 1.18x at
//             least (sessions/h200-few-queries). Left: up to 32 rows at 64 columns, which two
//             blocks of one warpgroup an SM answer 1.13x faster, so they are not shared there; and
//             from 67 row blocks of 64 rows on, where pingpong is ahead.

#include "sm90/split_choice.cuh"
#include "sm90/tma_inputs.cuh"
#include "wgmma_flash.cuh"

#include <algorithm>

#ifndef TILE_INDEX  // index into the tile table of a head dim; -1 chooses by the grid
#define TILE_INDEX -1
#endif
#ifndef KEEP_MB  // of K and V that do not fit the L2, as much stays there; 0: no hints
#define KEEP_MB 28
#endif
#ifndef CLUSTER_RANKS  // blocks of a cluster; with MERGED_CLUSTERS 0 chosen by the waves they make
#define CLUSTER_RANKS 0
#endif
#ifndef MERGED_CLUSTERS  // clusters of a row block, merged through the workspace
#define MERGED_CLUSTERS 0
#endif

namespace {

using namespace wb::gpu;

using KernelPointer = void (*)(CUtensorMap, CUtensorMap, Params);

struct Entry {
  KernelPointer kernel;
  int rows, keys, threads, smem_bytes, row_quads, blocks_per_sm;
};

template <class S>
Entry entry_of() {
  return {reinterpret_cast<KernelPointer>(&wgmma_flash<S>),
          S::k_rows,
          S::BN,
          S::k_threads,
          S::k_smem_bytes,
          S::DP / 4,
          S::BPS};
}

constexpr int k_tiles = 5;
constexpr int k_shared_rows = 4;  // the tile whose warpgroups share 64 rows

// WGS, BN, STAGES, BPS (, KS); from the finest grid to the coarsest.
template <typename T>
void fill_tiles(Entry (&table)[k_tiles], int64_t dim) {
  if (dim <= 64) {
    table[0] = entry_of<Shape<T, 64, 1, 64, 2, 4>>();
    table[1] = entry_of<Shape<T, 64, 1, 128, 3, 2>>();
    table[2] = entry_of<Shape<T, 64, 2, 64, 5, 2>>();
    table[3] = entry_of<Shape<T, 64, 2, 64, 3, 2>>();
    table[4] = entry_of<Shape<T, 64, 1, 128, 2, 1, 3>>();
  } else {
    table[0] = entry_of<Shape<T, 128, 1, 64, 3, 2>>();
    table[1] = entry_of<Shape<T, 128, 2, 64, 5, 1>>();
    table[2] = entry_of<Shape<T, 128, 3, 64, 5, 1>>();
    table[3] = entry_of<Shape<T, 128, 2, 128, 2, 1>>();
    table[4] = entry_of<Shape<T, 128, 1, 64, 2, 1, 3>>();
  }
}

// 128 rows a block where that still fills the device, else 64 rows: with long steps at 64 columns
// where the blocks are few. Blocks of many keys share their rows where all are resident at once, at
// 64 columns from 33 rows on. Measured in docs/kernels.md.
int choose_tile(const Entry (&table)[k_tiles], int64_t dim, int64_t heads, int64_t rows,
                int64_t keys, int sm_count) {
  if constexpr (TILE_INDEX >= 0) {
    return std::min(TILE_INDEX, k_tiles - 1);
  } else {
    const auto blocks = [&](int i) { return heads * ((rows + table[i].rows - 1) / table[i].rows); };
    const bool shares = keys >= 2048 && (dim > 64 || rows > 32);
    if (shares && blocks(k_shared_rows) <= sm_count) return k_shared_rows;
    if (dim > 64) return blocks(3) >= 2 * int64_t(sm_count) ? 3 : 0;
    if (blocks(2) >= sm_count * int64_t(3) / 2) return 2;
    return 1;
  }
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
  const void* mapped_k;  // what the maps below were encoded for
  const void* mapped_v;
  CUtensorMap map_k, map_v;
};

namespace {

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_flash: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_wgmma_flash: no masks");
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > 128 || p.dim_v > 128) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_flash: head dims are multiples of 8 up to 128");
  }
  if (!aligned_for_tma(p)) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_flash: strides must be multiples of 8 elements");
  }
  if (p.seq_kv > (int64_t(1) << 30) || p.seq_q > (int64_t(1) << 20) ||
      p.batch * p.heads_kv > 65535 || p.seq_q * (p.heads_q / p.heads_kv) > int64_t(65535) * 64) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_flash: more rows, keys or heads than the grid holds");
  }
  return WB_OK;
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  const int64_t group = p.heads_q / p.heads_kv, rows = p.seq_q * group;
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;

  Entry table[k_tiles];
  if (p.dtype == WB_F16) {
    fill_tiles<__half>(table, std::max(p.dim, p.dim_v));
  } else {
    fill_tiles<__nv_bfloat16>(table, std::max(p.dim, p.dim_v));
  }
  const int64_t heads = p.batch * p.heads_kv;
  const int tile =
      choose_tile(table, std::max(p.dim, p.dim_v), heads, rows, p.seq_kv, device.sm_count);
  plan.entry = table[tile];
  const Entry& entry = plan.entry;
  cudaError_t error = cudaFuncSetAttribute(
      entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, entry.smem_bytes);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  const int64_t row_blocks = (rows + entry.rows - 1) / entry.rows;
  const int64_t units = heads * row_blocks;
  const int64_t steps = (p.seq_kv + entry.keys - 1) / entry.keys;
  SplitChoice choice = {1, 1};
  // A split pays for its merge where the device would be half idle and each part stays long.
  const int64_t stages = int64_t(entry.blocks_per_sm) * device.sm_count;
  if (CLUSTER_RANKS > 0 || MERGED_CLUSTERS > 0 || (2 * units <= stages && steps >= 16)) {
    choice = choose_splits(units, steps, device.sm_count, CLUSTER_RANKS, MERGED_CLUSTERS);
  }
  if (tile == k_shared_rows && CLUSTER_RANKS + MERGED_CLUSTERS == 0) {
    choice = {largest_resident_cluster(reinterpret_cast<const void*>(entry.kernel), entry.threads,
                                       entry.smem_bytes, units, steps),
              1};
  }
  // Blocks that start early take whatever SMs are free: only where one wave of them is enough.
  plan.early_start =
      EARLY_START == 2 || (EARLY_START == 1 && choice.ranks == 1 && 2 * units <= stages);
  plan.ranks = choice.ranks;
  plan.grid = dim3(choice.ranks * choice.clusters, unsigned(heads), unsigned(row_blocks));
  plan.workspace = merge_workspace(choice, units, entry.rows, entry.row_quads);

  Params& k = plan.params;
  k.sq = p.q;
  k.heads_kv = int(p.heads_kv);
  k.group = int(group);
  k.seq_kv = int(p.seq_kv);
  k.dim = int(p.dim);
  k.rows = int(rows);
  k.kept_256 = kept_share(device.ordinal, heads * p.seq_kv * (p.dim + p.dim_v) * 2, KEEP_MB);
  k.causal_offset = causal_offset_of(p);
  k.row_blocks = int(row_blocks);
  k.negate = p.scale < 0.0;
  k.whole_rows = p.dim == 128 && p.dim_v == 128;
  k.scale_log2 = scale_log2_of(p);
  k.merge.so = p.out;
  k.merge.lse_batch_stride = p.heads_q * p.seq_q;
  k.merge.group = int(group);
  k.merge.seq_q = int(p.seq_q);
  k.merge.dim_v = int(p.dim_v);
  return WB_OK;
}

// A box has half of each 256-byte row: 3 % faster when a miss does not bring the other half along.
constexpr CUtensorMapL2promotion k_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;

int map_inputs(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  if (plan.mapped_k == args.k && plan.mapped_v == args.v) return WB_OK;
  const char* why =
      encode_bhsd_map(&plan.map_k, args.k, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim, p.k,
                      uint32_t(plan.entry.keys), k_promotion, plan.params.whole_rows);
  if (why == nullptr) {
    why = encode_bhsd_map(&plan.map_v, args.v, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim_v, p.v,
                          uint32_t(plan.entry.keys), k_promotion, plan.params.whole_rows);
  }
  if (why != nullptr) return fail(WB_FAILED, "sm90_wgmma_flash: mapping K and V: %s", why);
  plan.mapped_k = args.k;
  plan.mapped_v = args.v;
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
  int status = check_args(plan->problem, args);
  if (status != WB_OK) return status;
  status = map_inputs(*plan, *args);
  if (status != WB_OK) return status;
  Params params = plan->params;
  params.q = args->q;
  params.merge.out = args->out;
  params.merge.lse = plan->problem.want_lse ? args->lse : nullptr;
  if (plan->workspace.bytes > 0) {
    if (args->workspace == nullptr) return fail(WB_FAILED, "forward: the workspace is missing");
    set_workspace(params.merge, plan->workspace, args->workspace);
  }
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config = cluster_config(attributes[0], plan->grid, plan->entry.threads,
                                             plan->entry.smem_bytes, plan->ranks, args->stream);
  allow_early_start(config, attributes, plan->early_start);
  const cudaError_t error =
      cudaLaunchKernelEx(&config, plan->entry.kernel, plan->map_k, plan->map_v, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching wgmma_flash", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
