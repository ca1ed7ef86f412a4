// SPDX-License-Identifier: MIT
// sm90_wgmma_pingpong: prefill flash attention with one loading and two or three computing
// warpgroups.
//
// Idea. One block an SM; a warpgroup that gave its registers away feeds Q, K and V by the copy
// engine, so the computing warpgroups (64 rows each) never stop to load. Named barriers give them
// turns: while one softmaxes, the products of the other keep the tensor cores busy, and within a
// warpgroup the products P V of a step run beside its next softmax. Blocks take tile after tile
// from a counter in the workspace: the next tile's Q and K are under way during the epilogue. Tiles
// are ordered longest first (causal) within sections of heads whose K and V fit the L2.
//
// Parent: sm90_wgmma_flash, whose two warpgroups have nothing that orders them and whose first
// thread loads. Hypothesis: the parent's products wait for its own softmax and for late loads.
// Predicted: D 128 full S 4k level with cuDNN, causal 1.05x; D 64 full 1.03x. Measured:
// docs/kernels.md.

#include "pingpong.cuh"
#include "plan.cuh"

#include <algorithm>
#include <cmath>
#include <new>

#ifndef TILE_INDEX  // index into the tile table of a head dim; -1 chooses by the grid
#define TILE_INDEX -1
#endif
#ifndef PERSISTENT  // 1: one block an SM takes tile after tile; 0: a block a tile
#define PERSISTENT 1
#endif

namespace {

using namespace wb::gpu;

using KernelPointer = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, Params);

struct Entry {
  KernelPointer kernel;
  int rows, keys, threads, smem_bytes;
};

template <class S>
Entry entry_of() {
  return {reinterpret_cast<KernelPointer>(&wgmma_pingpong<S>), S::k_rows, S::BN, S::k_threads,
          S::k_smem_bytes};
}

constexpr int k_tiles = 2;

// WGS, BN, STAGES.
template <typename T>
void fill_tiles(Entry (&table)[k_tiles], int64_t dim) {
  if (dim <= 64) {
    table[0] = entry_of<Shape<T, 64, 3, 128, 4>>();
    table[1] = entry_of<Shape<T, 64, 2, 128, 4>>();
  } else {
    table[0] = table[1] = entry_of<Shape<T, 128, 2, 128, 2>>();
  }
}

// The tile whose rounds over the device cost less. A row of the fine tile costs 15 % more; under a
// causal rule 5 %, since the coarse one masks more. Measured in docs/kernels.md.
int choose_tile(const Entry (&table)[k_tiles], const wb_sdpa_problem& p, int sm_count) {
  if constexpr (TILE_INDEX >= 0) {
    return std::min(TILE_INDEX, k_tiles - 1);
  } else {
    const auto cost = [&](int i, int percent) {
      const int64_t tiles = p.batch * p.heads_q * ((p.seq_q + table[i].rows - 1) / table[i].rows);
      return (tiles + sm_count - 1) / sm_count * table[i].rows * percent;
    };
    return cost(0, 100) <= cost(1, p.causal == WB_CAUSAL_NONE ? 115 : 105) ? 0 : 1;
  }
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  unsigned blocks;
  const void* mapped[3];  // what the maps below were encoded for: q, k, v
  CUtensorMap maps[3];
};

namespace {

bool aligned_for_copy_engine(wb_strides s, int64_t batch, int64_t heads, int64_t rows) {
  return (batch == 1 || s.batch % 8 == 0) && (heads == 1 || s.head % 8 == 0) &&
         (rows == 1 || (s.row % 8 == 0 && s.row > 0));
}

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_pingpong: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_wgmma_pingpong: no masks");
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > 128 || p.dim_v > 128) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_pingpong: head dims are multiples of 8 up to 128");
  }
  if (!aligned_for_copy_engine(p.k, p.batch, p.heads_kv, p.seq_kv) ||
      !aligned_for_copy_engine(p.v, p.batch, p.heads_kv, p.seq_kv) ||
      !aligned_for_copy_engine(p.q, p.batch, p.heads_q, p.seq_q) ||
      !aligned_for_copy_engine(p.out, p.batch, p.heads_q, p.seq_q)) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_pingpong: strides must be multiples of 8 elements");
  }
  const int64_t tiles = p.batch * p.heads_q * ((p.seq_q + 127) / 128);
  if (p.seq_kv > (1 << 29) || p.seq_q > (1 << 29) || tiles > (1 << 30)) {
    return fail(WB_UNSUPPORTED,
                "sm90_wgmma_pingpong: more rows, keys or heads than fit its counts");
  }
  return WB_OK;
}

// Heads that are walked side by side: under a causal rule as many as the L2 holds K and V of, so
// that long row blocks of many heads come first; else one after the other.
int64_t heads_of_a_section(const wb_sdpa_problem& p) {
  if (p.causal == WB_CAUSAL_NONE) return 1;
  const int64_t bytes = p.seq_kv * (p.dim + p.dim_v) * 2;
  const int64_t group = p.heads_q / p.heads_kv;
  return std::clamp((int64_t(32) << 20) / bytes * group, group, p.batch * p.heads_q);
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  int device = 0, sm_count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return fail_cuda("reading the device's attributes", error);

  Entry table[k_tiles];
  if (p.dtype == WB_F16) {
    fill_tiles<__half>(table, std::max(p.dim, p.dim_v));
  } else {
    fill_tiles<__nv_bfloat16>(table, std::max(p.dim, p.dim_v));
  }
  plan.entry = table[choose_tile(table, p, sm_count)];
  const Entry& entry = plan.entry;
  error = cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  Params& k = plan.params;
  k.so = p.out;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim_v = int(p.dim_v);
  k.causal_offset = p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
                    : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                                     : int(p.seq_kv - p.seq_q);
  k.row_blocks = int((p.seq_q + entry.rows - 1) / entry.rows);
  k.heads = int(p.batch * p.heads_q);
  k.section_heads = int(heads_of_a_section(p));
  k.tiles = k.heads * k.row_blocks;
  k.negate = p.scale < 0.0;
  // A zero scale becomes 2^-100: exp2 of any score is then 1, and -inf stays -inf.
  k.scale_log2 = std::max(float(std::fabs(p.scale) * 1.4426950408889634), 0x1p-100f);
  plan.blocks = unsigned(PERSISTENT ? std::min(k.tiles, sm_count) : k.tiles);
  return WB_OK;
}

int map_inputs(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const void* bases[3] = {args.q, args.k, args.v};
  if (std::equal(bases, bases + 3, plan.mapped)) return WB_OK;
  const char* why =
      encode_bhsd_map(&plan.maps[0], args.q, p.dtype, p.batch, p.heads_q, p.seq_q, p.dim, p.q, 64);
  const uint32_t keys = uint32_t(plan.entry.keys);
  if (why == nullptr) {
    why = encode_bhsd_map(&plan.maps[1], args.k, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim, p.k,
                          keys);
  }
  if (why == nullptr) {
    why = encode_bhsd_map(&plan.maps[2], args.v, p.dtype, p.batch, p.heads_kv, p.seq_kv, p.dim_v,
                          p.v, keys);
  }
  if (why != nullptr) return fail(WB_FAILED, "sm90_wgmma_pingpong: mapping the inputs: %s", why);
  std::copy(bases, bases + 3, plan.mapped);
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
  return plan->blocks < unsigned(plan->params.tiles) ? sizeof(int) : 0;
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  const int status = map_inputs(*plan, *args);
  if (status != WB_OK) return status;
  Params params = plan->params;
  params.out = args->out;
  if (wb_sdpa_workspace_bytes(plan) > 0) {
    if (args->workspace == nullptr) return fail(WB_FAILED, "forward: the workspace is missing");
    params.counter = static_cast<int*>(args->workspace);
  }
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(plan->blocks);
  config.blockDim = dim3(unsigned(plan->entry.threads));
  config.dynamicSmemBytes = size_t(plan->entry.smem_bytes);
  config.stream = static_cast<cudaStream_t>(args->stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, plan->maps[0],
                                               plan->maps[1], plan->maps[2], params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching wgmma_pingpong", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
