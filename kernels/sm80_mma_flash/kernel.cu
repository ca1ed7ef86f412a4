// SPDX-License-Identifier: MIT
// sm80_mma_flash: short self-attention on mma.sync with cp.async.
//
// Idea. Below S of about 1024 the device is not full and a call is a chain of latencies, so the
// tile is chosen by the grid it makes: 16 to 128 query rows a block, and up to 8 warps of a block
// that split the keys of a row group between them (each with its own running softmax, merged once
// in shared memory at the end). All of K and V that fits is requested before the first wait, so a
// short problem pays one memory latency. Warps of a block share every K and V tile.
// Each warp owns MW x 16 rows: S = Q K^T with Q in registers, P stays in registers as the A operand
// of P V. Causal blocks are launched longest first; only tiles that cross the diagonal or the end
// of the keys are masked. Any head dim up to DP works; rows that are not 16-byte aligned take the
// scalar loader.
//
// Parent: none. Predicted: 1.8x on S up to 512 with few heads, where fixed 128-row tiles leave the
// device idle; 1.1x at B*H 128, S 512.
//
// Worklog
//   measured  H200, hot burst, over the fastest backend of PyTorch: 2.25x on the 11 problems of
//             n6, 1.78x at least (sessions/h200-part1-whole); 0.75x at B*H 128, S 512
//             (sessions/ladder), where sm90_wgmma_carry is the choice.

#include "cuda/plan.cuh"
#include "mma_flash.cuh"

#include <algorithm>

#ifndef TILE_INDEX  // index into the tile table of a head dim; -1 chooses by the grid
#define TILE_INDEX -1
#endif

namespace {

using namespace wb::gpu;

using KernelPointer = void (*)(Params);

struct Entry {
  KernelPointer kernel;
  int rows, keys, threads, smem_bytes, blocks_per_sm;
};

// Asks for so much shared memory that no more than BPS blocks share an SM: with early start the
// next calls' blocks would pile up on some SMs (a third block made 128 of them 0.5 us slower).
template <class S>
Entry entry_of() {
  constexpr int too_many = 228 * 1024 / (S::BPS + 1) - 1024 + 16;
  return {&mma_flash<S>,
          S::k_rows,
          S::k_keys,
          S::k_threads,
          S::k_smem_bytes < too_many ? too_many : S::k_smem_bytes,
          S::BPS};
}

constexpr int k_tiles = 6;

// From the finest grid to the coarsest. MW, WM, WN, KW, STAGES, blocks per SM.
template <typename T, int DP>
void fill_tiles(Entry (&table)[k_tiles]) {
  if constexpr (DP == 64) {
    table[0] = entry_of<Shape<T, DP, 1, 1, 4, 32, 2, 2>>();
    table[1] = entry_of<Shape<T, DP, 1, 1, 8, 32, 2, 1>>();
    table[2] = entry_of<Shape<T, DP, 1, 2, 4, 32, 2, 2>>();
    table[3] = entry_of<Shape<T, DP, 1, 4, 2, 64, 2, 2>>();
    table[4] = entry_of<Shape<T, DP, 1, 4, 1, 64, 2, 4>>();
    table[5] = entry_of<Shape<T, DP, 2, 4, 1, 64, 2, 2>>();
  } else if constexpr (DP == 128) {
    table[0] = entry_of<Shape<T, DP, 1, 1, 4, 32, 2, 1>>();
    table[1] = entry_of<Shape<T, DP, 1, 1, 8, 16, 2, 1>>();
    table[2] = entry_of<Shape<T, DP, 1, 2, 4, 32, 2, 1>>();
    table[3] = entry_of<Shape<T, DP, 1, 4, 2, 32, 2, 1>>();
    table[4] = entry_of<Shape<T, DP, 1, 4, 1, 64, 2, 2>>();
    table[5] = entry_of<Shape<T, DP, 1, 8, 1, 64, 2, 1>>();
  } else {
    table[0] = table[1] = entry_of<Shape<T, DP, 1, 1, 4, 16, 2, 1>>();
    table[2] = table[3] = table[4] = table[5] = entry_of<Shape<T, DP, 1, 4, 1, 32, 2, 1>>();
  }
}

template <typename T>
void fill_tiles(Entry (&table)[k_tiles], int64_t dim) {
  if (dim <= 64) return fill_tiles<T, 64>(table);
  if (dim <= 128) return fill_tiles<T, 128>(table);
  return fill_tiles<T, 256>(table);
}

// The finest tile whose blocks all run at once (two an SM at most); a coarse one where none does.
// 16 rows and 4 warps first for short keys, with 8 warps for longer ones: measured in
// docs/kernels.md.
int choose_tile(const Entry (&table)[k_tiles], int64_t heads, const wb_sdpa_problem& p,
                int sm_count) {
  if constexpr (TILE_INDEX >= 0) {
    return std::min(TILE_INDEX, k_tiles - 1);
  } else {
    const auto fits = [&](int i) {
      const int64_t blocks = heads * ((p.seq_q + table[i].rows - 1) / table[i].rows);
      return blocks <= int64_t(std::min(table[i].blocks_per_sm, 2)) * sm_count;
    };
    if (p.seq_kv > 128 && fits(1)) return 1;
    for (int i : {0, 2, 4}) {
      if (fits(i)) return i;
    }
    return std::max(p.dim, p.dim_v) <= 64 ? 5 : 4;
  }
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  dim3 grid;
  bool early_start;
};

namespace {

// Do all rows start on, and hold, a multiple of `n` elements?
bool rows_divide_by(const wb_sdpa_problem& p, int64_t n) {
  return p.dim % n == 0 && p.dim_v % n == 0 && strides_divide_by(p.q, n) &&
         strides_divide_by(p.k, n) && strides_divide_by(p.v, n) && strides_divide_by(p.out, n);
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;

  Entry table[k_tiles];
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.dtype == WB_F16) {
    fill_tiles<__half>(table, dim);
  } else {
    fill_tiles<__nv_bfloat16>(table, dim);
  }
  const int64_t heads = p.batch * p.heads_q;
  const int tile = choose_tile(table, heads, p, device.sm_count);
  plan.entry = table[tile];
  // Blocks that start early take whatever SMs are free: even only while all of them are light.
  plan.early_start =
      EARLY_START == 2 || (EARLY_START == 1 && (tile <= 1 || (tile == 2 && p.seq_kv <= 128)));
  const int64_t row_blocks = (p.seq_q + plan.entry.rows - 1) / plan.entry.rows;
  if (row_blocks > 65535) return fail(WB_UNSUPPORTED, "sm80_mma_flash: too many query rows");
  plan.grid = dim3(unsigned(heads), unsigned(row_blocks));
  cudaError_t error = cudaFuncSetAttribute(
      plan.entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  Params& k = plan.params;
  k.sq = p.q;
  k.sk = p.k;
  k.sv = p.v;
  set_problem_params(k, p);
  k.dim = int(p.dim);
  k.row_blocks = int(row_blocks);
  k.io = rows_divide_by(p, 8) ? RowIo::wide : rows_divide_by(p, 2) ? RowIo::pairs : RowIo::single;
  k.negate = p.scale < 0.0;
  return WB_OK;
}

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm80_mma_flash: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm80_mma_flash: no masks");
  if (p.dim > 256 || p.dim_v > 256) {
    return fail(WB_UNSUPPORTED, "sm80_mma_flash: head dims up to 256");
  }
  if (p.seq_q > (1 << 29) || p.seq_kv > (1 << 29) || p.batch * p.heads_q > (int64_t(1) << 31) - 1) {
    return fail(WB_UNSUPPORTED, "sm80_mma_flash: more rows, keys or heads than the grid holds");
  }
  return WB_OK;
}

}  // namespace

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  return create_plan(problem, out, check_reach, prepare);
}

extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  if (const int status = check_args(plan->problem, args); status != WB_OK) return status;
  Params params = plan->params;
  params.q = args->q;
  params.k = args->k;
  params.v = args->v;
  params.out = args->out;
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config =
      launch_config(plan->grid, plan->entry.threads, plan->entry.smem_bytes, args->stream);
  cudaLaunchAttribute attribute;
  allow_early_start(config, &attribute, plan->early_start);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching mma_flash", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
