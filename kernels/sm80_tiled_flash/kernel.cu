// SPDX-License-Identifier: MIT
// sm80_tiled_flash: tiles of K and V shared by the rows of a block, in plain f32 arithmetic, with
// the usual improvements as parameters, so that each can be told from the others.
//
// Worklog
//   idea      QUERIES rows a block, WARPS warps with rows of their own; a tile of K and V is loaded
//             once for all of them. Lanes lie along the keys for Q K^T and along the columns of V
//             for P V. The defaults are the plain form
//   parent    sm80_sequential_kv
//   changed   all warps compute, and a warp multiplies what it reads with all its rows. Each by its
//             parameter: VECTOR_LOADS reads 16 bytes where else an element is read; PADDING bytes
//             behind each row of K and V let the lanes of a warp read its keys from different
//             banks; ASYNC_COPY fetches the next tile by cp.async while this one is worked on;
//             MIN_BLOCKS holds the registers to those of so many blocks an SM; GRID 0 launches the
//             blocks of one head, which loop over the heads, 1 launches all, 2 as many as are
//             resident at once; SPLIT_KEYS gives a block so many keys (0: all), and what they give
//             is added up by a second kernel (MERGE 0), or in the same one by the block that an
//             atomic count shows to be the last (MERGE 1)
//   predicted VECTOR_LOADS 2 times (a quarter of the loads), PADDING 2 times before it and 1.3
//             behind it (32 and 8 keys meet in a bank), ASYNC_COPY 1.2; MIN_BLOCKS and GRID 2 at
//             most 1.1. GRID 0 slower by as much as the heads could run side by side. SPLIT_KEYS
//             gains where row blocks are fewer than SMs, MERGE 1 the second launch
//   costs     no tensor cores, and 8 products an element of K that is read, at best. Atomics on
//             running maxima, as the idea was first written down, need a lock a row and give other
//             bits in another order: here only the count is atomic, and the order is fixed
//   compiled  sm_80 and sm_90a, nvcc 13.0: 86 to 106 registers by default, at most 252 (8 rows a
//             warp, tiles of 128 keys); no spills, no stack in the 200 configurations tried on each
//   measured  H200, hot burst, each over the step before: VECTOR_LOADS 3.18x, PADDING behind
//             it 1.39x, MIN_BLOCKS 2 1.00x, GRID 2 0.99x, ASYNC_COPY 1.07x
//             (sessions/from-benchmarks); SPLIT_KEYS 1.36x, MERGE 1 1.07x (sessions/n6-baseline);
//             GRID 0 0.16x (sessions/batch-scaling)

#ifndef QUERIES
#define QUERIES 16
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef TILE_KEYS
#define TILE_KEYS 64
#endif
#ifndef VECTOR_LOADS
#define VECTOR_LOADS 0
#endif
#ifndef PADDING
#define PADDING 0
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#ifndef ASYNC_COPY
#define ASYNC_COPY 0
#endif
#ifndef GRID
#define GRID 1
#endif
#ifndef SPLIT_KEYS
#define SPLIT_KEYS 0
#endif
#ifndef MERGE
#define MERGE 0
#endif

#include "merge.cuh"

namespace {

using namespace wb::gpu;

constexpr int64_t k_most_dim = 128;
constexpr int64_t k_most_items = 1 << 30;     // an item and a grid add up to an int
constexpr int64_t k_most_partials = 1 << 28;  // floats, a GiB
constexpr int k_most_shared = 99 * 1024;      // of a block, on every sm_80 and newer
static_assert(SPLIT_KEYS % TILE_KEYS == 0);

// One item: a part of the keys of a row block of a head.
template <class S>
__device__ __forceinline__ void attend(const ScalarParams& p, const KeySplit& split, int item) {
  using T = typename S::T;
  const int part = item % split.parts;
  const BlockCoord coord = item_coord(p, split, item / split.parts);
  const int first_row = coord.part * QUERIES;
  const T* q = static_cast<const T*>(p.q) + row_offset(p.sq, coord.batch, coord.head, 0);
  const T* k = static_cast<const T*>(p.k) + row_offset(p.sk, coord.batch, coord.head_kv, 0);
  const T* v = static_cast<const T*>(p.v) + row_offset(p.sv, coord.batch, coord.head_kv, 0);

  // The last row of the block sees the most keys.
  const int first_of_part = part * split.part_keys;
  const int keys =
      min(visible_keys(p, min(first_row + QUERIES, p.seq_q) - 1), first_of_part + split.part_keys);
  const auto load_tile = [&](int first_key, int stage) {
    load_rows<S, TILE_KEYS>(S::k(stage), S::k_pitch, k, p.sk.row, first_key, keys, p.dim,
                            split.aligned);
    load_rows<S, TILE_KEYS>(S::v(stage), S::k_pitch, v, p.sv.row, first_key, keys, p.dim_v,
                            split.aligned);
  };

  Rows<S> w;
  init_rows(w, first_row);
  if (first_of_part < keys) {  // else nobody would wait for copies into memory of the next item
    load_rows<S, QUERIES>(S::q(0), S::k_dim, q, p.sq.row, first_row, p.seq_q, p.dim, split.aligned);
    if (ASYNC_COPY) {
      load_tile(first_of_part, 0);
      cp_async_commit_group();
    }
  }
  int stage = 0;
  for (int first_key = first_of_part; first_key < keys; first_key += TILE_KEYS) {
    if (ASYNC_COPY) {
      if (first_key + TILE_KEYS < keys) load_tile(first_key + TILE_KEYS, stage ^ 1);
      cp_async_commit_group();
      cp_async_wait_group<1>();  // the tile before that one
    } else {
      load_tile(first_key, 0);
    }
    __syncthreads();
    float s[k_warp_rows][k_lane_keys];
    gemm_qk(s, w, S::k(stage));
    softmax_tile(s, w, p, coord, first_key, keys);
    __syncwarp();
    gemm_pv(w, S::v(stage));
    __syncthreads();  // the tile and the weights are read
    if (ASYNC_COPY) stage ^= 1;
  }
  reduce_row_sums(w);
  store_rows(p, split, coord, part, w);
  if (MERGE == 1 && split.parts > 1 && is_last_part(split, split.tickets + item / split.parts)) {
    merge_parts<S>(p, split, coord, first_row);
  }
}

template <class S>
__global__ void __launch_bounds__(k_threads, MIN_BLOCKS)
    tiled_flash(ScalarParams p, KeySplit split) {
  for (int item = int(blockIdx.x); item < split.items; item += int(gridDim.x)) {
    attend<S>(p, split, item);
  }
}

template <class S>
__global__ void __launch_bounds__(k_threads) merge_splits(ScalarParams p, KeySplit split) {
  const BlockCoord coord = item_coord(p, split, int(blockIdx.x));
  merge_parts<S>(p, split, coord, coord.part * QUERIES);
}

using TiledKernel = void (*)(ScalarParams, KeySplit);

struct TiledLaunch {
  TiledKernel attend, merge;
  int smem_bytes;
};

template <typename T>
TiledLaunch launch_of(int64_t dim) {
  using Narrow = Shape<T, 64>;
  using Wide = Shape<T, 128>;
  if (dim <= 64) return {&tiled_flash<Narrow>, &merge_splits<Narrow>, Narrow::k_bytes};
  return {&tiled_flash<Wide>, &merge_splits<Wide>, Wide::k_bytes};
}

TiledLaunch choose_launch(const wb_sdpa_problem& p) {
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.dtype == WB_F16) return launch_of<__half>(dim);
  if (p.dtype == WB_BF16) return launch_of<__nv_bfloat16>(dim);
  return launch_of<float>(dim);
}

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t parts_of(const wb_sdpa_problem& p) {
  return SPLIT_KEYS > 0 ? divide_up(p.seq_kv, std::max(1, SPLIT_KEYS)) : 1;
}

// Floats of the workspace, behind the tickets.
int64_t partials_of(const wb_sdpa_problem& p) {
  const int64_t parts = parts_of(p);
  return parts == 1 ? 0 : p.batch * p.heads_q * p.seq_q * parts * (p.dim_v + k_statistics);
}

int check_reach(const wb_sdpa_problem& p) {
  const int status = check_scalar_reach("sm80_tiled_flash", p, k_most_dim);
  if (status != WB_OK) return status;
  if (p.batch * p.heads_q > k_most_items / parts_of(p) / divide_up(p.seq_q, QUERIES)) {
    return fail(WB_UNSUPPORTED, "sm80_tiled_flash: more row blocks than can be counted");
  }
  if (partials_of(p) > k_most_partials) {
    return fail(WB_UNSUPPORTED, "sm80_tiled_flash: more than a GiB of partial results");
  }
  if (choose_launch(p).smem_bytes > k_most_shared) {
    return fail(WB_UNSUPPORTED, "sm80_tiled_flash: tiles larger than the shared memory");
  }
  return WB_OK;
}

KeySplit split_problem(const wb_sdpa_problem& p) {
  KeySplit split = {};
  split.row_blocks = int(divide_up(p.seq_q, QUERIES));
  split.parts = int(parts_of(p));
  split.part_keys = SPLIT_KEYS > 0 ? SPLIT_KEYS : int(p.seq_kv);
  split.items = int(p.batch * p.heads_q * split.row_blocks * split.parts);
  const int64_t piece = p.dtype == WB_F32 ? 4 : 8;  // elements of 16 bytes
  split.aligned = p.dim % piece == 0 && p.dim_v % piece == 0 && strides_divide_by(p.q, piece) &&
                  strides_divide_by(p.k, piece) && strides_divide_by(p.v, piece);
  return split;
}

// Blocks of the grid.
int choose_blocks(int& blocks, const KeySplit& split, const TiledLaunch& chosen) {
  blocks = split.items;
  if (GRID == 0) blocks = split.row_blocks * split.parts;
  if (GRID < 2) return WB_OK;
  DeviceFacts device;
  const int status = read_device(device);
  if (status != WB_OK) return status;
  int resident = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, chosen.attend, k_threads, size_t(chosen.smem_bytes));
  if (error != cudaSuccess) return fail_cuda("asking for the resident blocks", error);
  blocks = std::min(split.items, std::max(1, resident) * device.sm_count);
  return WB_OK;
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  ScalarParams params;
  KeySplit split;
  TiledLaunch chosen;
  int blocks;
  size_t ticket_bytes, workspace_bytes;
};

extern "C" {
int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  return create_plan(problem, out, check_reach, [](wb_sdpa_plan& plan) -> int {
    const wb_sdpa_problem& p = plan.problem;
    plan.params = scalar_params(p);
    plan.split = split_problem(p);
    plan.chosen = choose_launch(p);
    if (plan.split.parts > 1) {
      const size_t tickets = size_t(plan.split.items / plan.split.parts);
      plan.ticket_bytes = (tickets * sizeof(unsigned) + 255) / 256 * 256;
      plan.workspace_bytes = plan.ticket_bytes + size_t(partials_of(p)) * sizeof(float);
    }
    const int status = allow_shared(plan.chosen.attend, plan.chosen.smem_bytes);
    if (status != WB_OK) return status;
    return choose_blocks(plan.blocks, plan.split, plan.chosen);
  });
}

size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan) {
  return plan->workspace_bytes;
}

int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  if (plan == nullptr) return fail(WB_FAILED, "forward: no plan");
  ScalarParams params = plan->params;
  KeySplit split = plan->split;
  int status = take_arguments(params, plan->problem, args, plan->workspace_bytes > 0);
  if (status != WB_OK) return status;
  unsigned char* workspace = static_cast<unsigned char*>(args->workspace);
  split.tickets = reinterpret_cast<unsigned*>(workspace);
  split.partials = reinterpret_cast<float*>(workspace + plan->ticket_bytes);
  status = launch(plan->chosen.attend, plan->blocks, k_threads, plan->chosen.smem_bytes,
                  args->stream, params, split);
  if (status != WB_OK || MERGE == 1 || split.parts == 1) return status;
  return launch(plan->chosen.merge, split.items / split.parts, k_threads, 0, args->stream, params,
                split);
}

void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
}
