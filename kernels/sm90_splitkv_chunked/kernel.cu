// SPDX-License-Identifier: MIT
// sm90_splitkv_chunked: few query rows against a long KV cache, one launch.
//
// Idea. Decode is bound by reading K and V once. The query rows that share a KV head (Sq x group)
// are packed into one tile; keys are split over the blocks of a cluster so that every SM reads; the
// copy engine streams K and V tiles into a ring of shared-memory stages (96 to 192 KB in flight per
// SM); each warp takes its own 16 keys of every stage and keeps its own running softmax, so warps
// never wait for each other; partial results are pushed into the owners' shared memory by st.async
// (one hop, no second launch, no trip through device memory). Where one cluster is not enough to
// fill the device, several clusters share a head and the last to finish merges through the
// workspace, whose counters reset themselves.
// Few rows sit badly on the 16 rows of mma.sync, so the operands are swapped: keys (then the head
// dim) lie on M, query rows on N, 8 at a time. S^T = K Q^T, and O^T = V^T P^T.
//
// Parent: none. Predicted: one launch saves 1.5 to 3 us on small caches (1.5x), full-bandwidth
// reading 1.05 to 1.1x on large ones, row packing 3x for Sq 2..16. Measured: docs/kernels.md.

#include "cluster_merge.cuh"
#include "griddepcontrol.cuh"
#include "mbarrier.cuh"
#include "packed_rows.cuh"
#include "plan.cuh"
#include "split_choice.cuh"
#include "tma.cuh"

#include <algorithm>
#include <cmath>

#ifndef CLUSTER_RANKS  // blocks of a cluster; with MERGED_CLUSTERS 0 chosen by the waves they make
#define CLUSTER_RANKS 0
#endif
#ifndef MERGED_CLUSTERS  // clusters of a head, merged through the workspace
#define MERGED_CLUSTERS 0
#endif
#ifndef EARLY_START  // 1: start while the previous kernel drains
#define EARLY_START 0
#endif
#ifndef STAGE_KIB  // shared memory for the K and V ring of a block, in KiB; 0 chooses
#define STAGE_KIB 0
#endif

namespace {

using namespace wb::gpu;

struct Params {
  MergeParams merge;
  PackedRows rows;
  int heads_kv, stages;
};

// NT 8-row tiles per warp, WR warps along the rows, WK warps along the keys, MK 16-key tiles a
// warp. BPS blocks are meant to share an SM.
template <typename T_, int DP_, int NT_, int WR_, int WK_, int MK_, int BPS_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, NT = NT_, WR = WR_, WK = WK_, MK = MK_, BPS = BPS_;
  static constexpr int k_rows = 8 * NT * WR;   // packed rows of a block
  static constexpr int k_keys = 16 * MK * WK;  // keys of a stage
  static constexpr int k_warps = WR * WK;      // consumers; one more warp loads
  static constexpr int k_threads = 32 * (k_warps + 1);
  static constexpr int k_tile_bytes = k_keys * DP * 2;  // K or V of one stage
  static constexpr int k_stage_bytes = 2 * k_tile_bytes;
  static constexpr int k_partial_stride = DP + 4;  // floats; the pad spreads the banks
  static constexpr int k_partial_warp = k_rows * k_partial_stride;
  static constexpr int k_partial_bytes = WK * k_partial_warp * 4;
};

// Shared memory behind the stages: the barriers (3 per stage, then the merge's), then the merge's.
constexpr int k_barrier_bytes = 256;

struct Ring {
  uint32_t base, full_k, full_v, empty;
};

template <class S>
__device__ __forceinline__ void load_tiles(const CUtensorMap* map_k, const CUtensorMap* map_v,
                                           const Ring& ring, int stages, int first, int last,
                                           int head, int batch) {
  int slot = 0;
  uint32_t parity = 1;  // a fresh `empty` barrier counts as passed
  for (int tile = first; tile < last; ++tile) {
    mbarrier_wait_parity(ring.empty + 8 * slot, parity);
    const uint32_t k_at = ring.base + slot * S::k_stage_bytes;
    const int key = tile * S::k_keys;
    mbarrier_arrive_expect_tx(ring.full_k + 8 * slot, S::k_tile_bytes);
#pragma unroll
    for (int slab = 0; slab < S::DP / 64; ++slab) {
      cp_async_bulk_tensor_4d(k_at + slab * S::k_keys * 128, map_k, ring.full_k + 8 * slot,
                              slab * 64, key, head, batch);
    }
    mbarrier_arrive_expect_tx(ring.full_v + 8 * slot, S::k_tile_bytes);
#pragma unroll
    for (int slab = 0; slab < S::DP / 64; ++slab) {
      cp_async_bulk_tensor_4d(k_at + S::k_tile_bytes + slab * S::k_keys * 128, map_v,
                              ring.full_v + 8 * slot, slab * 64, key, head, batch);
    }
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
}

template <class S>
__device__ __forceinline__ void consume_tiles(WarpState<S>& w, const Ring& ring, const Params& p,
                                              int first, int last, int warp_key, int lane) {
  int slot = 0;
  uint32_t parity = 0;
  for (int tile = first; tile < last; ++tile) {
    const uint32_t k_at = ring.base + slot * S::k_stage_bytes;
    float s[S::MK][S::NT][4];
    uint32_t prob[S::MK][S::NT][2];
    const auto line = [&](uint32_t tile_at, int row, int unit) {
      row += warp_key;
      return tile_at + (unit / 8) * S::k_keys * 128 + row * 128 + ((unit % 8 ^ (row & 7)) << 4);
    };
    mbarrier_wait_parity(ring.full_k + 8 * slot, parity);
    score<S>(
        s, w, [&](int row, int unit) { return line(k_at, row, unit); }, lane, p.rows.scale_log2);
    const int first_key = tile * S::k_keys + warp_key;
    if (first_key + 16 * S::MK - 1 > w.least_limit) mask_scores<S>(s, w, first_key, lane);
    softmax<S>(prob, s, w);
    mbarrier_wait_parity(ring.full_v + 8 * slot, parity);
    const uint32_t v_at = k_at + S::k_tile_bytes;
    accumulate<S>(
        w, prob, [&](int row, int unit) { return line(v_at, row, unit); }, lane);
    __syncwarp();  // every lane's reads are done before the stage is given back
    if (lane == 0) mbarrier_arrive(ring.empty + 8 * slot);
    if (++slot == p.stages) {
      slot = 0;
      parity ^= 1;
    }
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS)
    splitkv_chunked(const __grid_constant__ CUtensorMap map_k,
                    const __grid_constant__ CUtensorMap map_v, const Params p) {
  extern __shared__ unsigned char raw_smem[];
  const uint32_t raw = smem_address(raw_smem);
  const uint32_t base = (raw + 1023) & ~1023u;  // the swizzle pattern counts from 1024
  unsigned char* smem = raw_smem + (base - raw);
  const int ring_bytes = max(p.stages * S::k_stage_bytes, S::k_partial_bytes);
  unsigned char* tail = smem + ring_bytes;
  const uint32_t tail_at = base + ring_bytes;
  const Ring ring = {base, tail_at, tail_at + 8u * p.stages, tail_at + 16u * p.stages};
  const uint32_t merge_barrier = tail_at + 24 * p.stages;

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int splits = gridDim.x, split = blockIdx.x;
  const int first_row = blockIdx.y * S::k_rows;
  const int batch = blockIdx.z / p.heads_kv, head_kv = blockIdx.z % p.heads_kv;
  const int live_rows = min(S::k_rows, p.rows.rows - first_row);

  // Keys that the last row of this block may still see, then this split's share of the tiles.
  const int64_t last_query = (first_row + live_rows - 1) / p.rows.group;
  const int keys =
      int(max(int64_t(0), min(int64_t(p.rows.seq_kv), last_query + p.rows.causal_offset + 1)));
  const int tiles = (keys + S::k_keys - 1) / S::k_keys;
  const int first = int(int64_t(tiles) * split / splits);
  const int last = int(int64_t(tiles) * (split + 1) / splits);

  const Slice slice = slice_of<S>(cluster_nctarank(), cluster_ctarank(), live_rows);
  if (threadIdx.x == S::k_warps * 32) {
    prefetch_tensormap(&map_k);
    prefetch_tensormap(&map_v);
    for (int i = 0; i < p.stages; ++i) {
      mbarrier_init(ring.full_k + 8 * i, 1);
      mbarrier_init(ring.full_v + 8 * i, 1);
      mbarrier_init(ring.empty + 8 * i, S::k_warps);
    }
    mbarrier_init(merge_barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(merge_barrier, merge_bytes(slice, live_rows));
  }
  __syncthreads();
  barrier_cluster_arrive();  // peers may push into this block from here on

#if EARLY_START
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
#endif

  float* partial = reinterpret_cast<float*>(smem);
  unsigned char* merge_smem = tail + k_barrier_bytes;
  float2* warp_ml = reinterpret_cast<float2*>(merge_smem + MergeSmem<S>::k_warp_ml);
  if (warp == S::k_warps) {
    if (lane == 0) {
      load_tiles<S>(&map_k, &map_v, ring, p.stages, first, last, head_kv, batch);
    }
    __syncwarp();
    __syncthreads();
  } else {
    const int wr = warp % S::WR, wk = warp / S::WR;
    WarpState<S> w;
    load_query<S>(w, p.rows, batch, head_kv, first_row + wr * S::NT * 8, lane);
    consume_tiles<S>(w, ring, p, first, last, wk * 16 * S::MK, lane);
    __syncthreads();  // every warp is done with the ring before the partials overlay it
    store_warp_partial<S>(w, partial, warp_ml, wr * S::NT * 8, wk, lane);
  }
  __syncthreads();
  barrier_cluster_wait();
  merge_and_store<S>(p.merge, partial, merge_smem, merge_barrier, batch, head_kv, first_row,
                     live_rows, slice);
}

// ---- host ----------------------------------------------------------------------------------

using KernelPointer = void (*)(CUtensorMap, CUtensorMap, Params);

// One compiled shape, as the host sees it.
struct Entry {
  KernelPointer kernel;
  int rows, keys, threads, stage_bytes, partial_bytes, tail_bytes, row_quads, blocks_per_sm;
};

template <class S>
Entry entry_of() {
  return {reinterpret_cast<KernelPointer>(&splitkv_chunked<S>),
          S::k_rows,
          S::k_keys,
          S::k_threads,
          S::k_stage_bytes,
          S::k_partial_bytes,
          k_barrier_bytes + MergeSmem<S>::k_bytes,
          S::DP / 4,
          S::BPS};
}

// NT, WR, WK, MK by the number of packed rows; two blocks an SM where registers allow it.
template <typename T, int DP>
Entry entry_for_rows(int64_t rows) {
  if (rows <= 8) return entry_of<Shape<T, DP, 1, 1, 4, 1, DP <= 128 ? 2 : 1>>();
  if constexpr (DP <= 128) {
    if (rows <= 16) return entry_of<Shape<T, DP, 2, 1, 4, 1, 2>>();
    if (rows <= 32) return entry_of<Shape<T, DP, 2, 2, 4, 1, 1>>();
    return entry_of<Shape<T, DP, 2, 4, 2, 2, 1>>();
  } else {
    // 9 warps may have 168 registers each: 8 rows a warp is what 256 columns leave room for.
    if (rows <= 16) return entry_of<Shape<T, DP, 2, 1, 4, 1, 1>>();
    return entry_of<Shape<T, DP, 1, 4, 2, 2, 1>>();
  }
}

template <typename T>
Entry entry_for(int64_t dim, int64_t rows) {
  if (dim <= 64) return entry_for_rows<T, 64>(rows);
  if (dim <= 128) return entry_for_rows<T, 128>(rows);
  return entry_for_rows<T, 256>(rows);
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  dim3 grid;
  int ranks;
  size_t smem_bytes;
  MergeWorkspace workspace;
  const void* mapped_k;  // what the maps below were encoded for
  const void* mapped_v;
  CUtensorMap map_k, map_v;
};

namespace {

bool aligned_for_copy_engine(wb_strides s, int64_t batch, int64_t heads, int64_t rows) {
  return (batch == 1 || s.batch % 8 == 0) && (heads == 1 || s.head % 8 == 0) &&
         (rows == 1 || (s.row % 8 == 0 && s.row > 0));
}

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_chunked: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_splitkv_chunked: no masks");
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > 256 || p.dim_v > 256) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_chunked: head dims are multiples of 8 up to 256");
  }
  if (!aligned_for_copy_engine(p.k, p.batch, p.heads_kv, p.seq_kv) ||
      !aligned_for_copy_engine(p.v, p.batch, p.heads_kv, p.seq_kv) ||
      !aligned_for_copy_engine(p.q, p.batch, p.heads_q, p.seq_q) ||
      !aligned_for_copy_engine(p.out, p.batch, p.heads_q, p.seq_q)) {
    return fail(WB_UNSUPPORTED, "sm90_splitkv_chunked: strides must be multiples of 8 elements");
  }
  if (p.seq_kv > (int64_t(1) << 30) || p.seq_q > (int64_t(1) << 20) ||
      p.batch * p.heads_kv > 65535 || p.seq_q * (p.heads_q / p.heads_kv) > int64_t(65535) * 8) {
    return fail(WB_UNSUPPORTED,
                "sm90_splitkv_chunked: more rows, keys or heads than the grid holds");
  }
  return WB_OK;
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  const int64_t group = p.heads_q / p.heads_kv, rows = p.seq_q * group;
  const int64_t dim = std::max(p.dim, p.dim_v);
  plan.entry =
      p.dtype == WB_F16 ? entry_for<__half>(dim, rows) : entry_for<__nv_bfloat16>(dim, rows);
  const Entry& entry = plan.entry;

  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;
  int smem_sm = 0, smem_block = 0;
  cudaError_t error =
      cudaDeviceGetAttribute(&smem_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device.ordinal);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&smem_block, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                   device.ordinal);
  if (error != cudaSuccess) return fail_cuda("reading the device's attributes", error);

  const int tiles = int((p.seq_kv + entry.keys - 1) / entry.keys);
  const int fixed = entry.tail_bytes + 1024;
  int room = std::min(smem_block, smem_sm / entry.blocks_per_sm - 1024) - fixed;
  if (STAGE_KIB > 0) room = std::min(room, STAGE_KIB * 1024);
  int stages = std::min({room / entry.stage_bytes, 10, tiles});
  if (stages < 1) stages = 1;
  plan.smem_bytes = size_t(std::max(stages * entry.stage_bytes, entry.partial_bytes)) + fixed;
  // As much as a block may have: plans of other lengths share this kernel and its attribute.
  error =
      cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_block);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  const int64_t row_blocks = (rows + entry.rows - 1) / entry.rows;
  const int64_t heads = p.batch * p.heads_kv, units = heads * row_blocks;
  const SplitChoice choice =
      choose_splits(units, tiles, device.sm_count, CLUSTER_RANKS, MERGED_CLUSTERS);
  plan.ranks = choice.ranks;
  plan.grid = dim3(choice.ranks * choice.clusters, unsigned(row_blocks), unsigned(heads));

  PackedRows& k = plan.params.rows;
  k.sq = p.q;
  k.group = int(group);
  k.seq_kv = int(p.seq_kv);
  k.dim = int(p.dim);
  k.rows = int(rows);
  k.causal_offset = p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
                    : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                                     : int(p.seq_kv - p.seq_q);
  k.scale_log2 = float(p.scale * 1.4426950408889634);
  plan.params.heads_kv = int(p.heads_kv);
  plan.params.stages = stages;
  MergeParams& m = plan.params.merge;
  m.so = p.out;
  m.lse_batch_stride = p.heads_q * p.seq_q;
  m.group = int(group);
  m.seq_q = int(p.seq_q);
  m.dim_v = int(p.dim_v);

  plan.workspace = merge_workspace(choice, units, entry.rows, entry.row_quads);
  return WB_OK;
}

int map_inputs(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  if (plan.mapped_k == args.k && plan.mapped_v == args.v) return WB_OK;
  const char* why = encode_bhsd_map(&plan.map_k, args.k, p.dtype, p.batch, p.heads_kv, p.seq_kv,
                                    p.dim, p.k, uint32_t(plan.entry.keys));
  if (why == nullptr) {
    why = encode_bhsd_map(&plan.map_v, args.v, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim_v, p.v,
                          uint32_t(plan.entry.keys));
  }
  if (why != nullptr) return fail(WB_FAILED, "sm90_splitkv_chunked: mapping K and V: %s", why);
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
  const int status = map_inputs(*plan, *args);
  if (status != WB_OK) return status;
  Params params = plan->params;
  params.rows.q = args->q;
  params.merge.out = args->out;
  params.merge.lse = plan->problem.want_lse ? args->lse : nullptr;
  if (plan->workspace.bytes > 0) {
    if (args->workspace == nullptr) return fail(WB_FAILED, "forward: the workspace is missing");
    set_workspace(params.merge, plan->workspace, args->workspace);
  }
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config =
      cluster_config(attributes[0], plan->grid, plan->entry.threads, plan->smem_bytes, plan->ranks);
  config.stream = static_cast<cudaStream_t>(args->stream);
  allow_early_start(config, attributes, EARLY_START != 0);
  const cudaError_t error =
      cudaLaunchKernelEx(&config, plan->entry.kernel, plan->map_k, plan->map_v, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching splitkv_chunked", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
