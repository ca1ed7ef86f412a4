// SPDX-License-Identifier: MIT
// sm90_wgmma_pingpong: prefill flash attention with one loading and two or three computing
// warpgroups, for head dims up to 256 and, up to 128, with masks.
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
// Predicted: D 128 full S 4k level with cuDNN, causal 1.05x; D 64 full 1.03x.
// Since then, predicted -> measured over the fastest rival: code for seven widths (D 80 1.2x ->
// 1.21, D 256 0.9x -> 1.10); masks by the copy engine (1.6x -> 1.5); warpgroups that end at their
// own last key (1.1x at S 512 -> nothing there, 1.06 at S 2k); 160 keys a step for D 128 full
// (1.03x
// -> 1.03 from S 2k on); no turns above 128 columns (level -> 1.05); keys split between the
// warpgroups of a small grid (1.8x at 64 queries -> 1.67). Exponentials on the FMA units and Q in
// registers were tried and taken out. All of it: docs/kernels.md.

#include "pingpong.cuh"
#include "plan.cuh"

#include <algorithm>
#include <cmath>
#include <new>

#ifndef TILE_INDEX  // index into the tile table of a head dim; -1 chooses by the grid
#define TILE_INDEX -1
#endif
#ifndef TRIM_CAUSAL  // 1: under a causal rule each warpgroup ends at its own last key
#define TRIM_CAUSAL 1
#endif
#ifndef PERSISTENT  // 1: one block an SM takes tile after tile; 0: a block a tile
#define PERSISTENT 1
#endif

namespace {

using namespace wb::gpu;

using KernelPointer = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, Params);

struct Entry {
  KernelPointer kernel;
  int rows, keys, threads, smem_bytes;
};

template <class S>
Entry entry_of() {
  return {reinterpret_cast<KernelPointer>(&wgmma_pingpong<S>), S::k_rows, S::BN, S::k_threads,
          S::k_smem_bytes};
}

constexpr int k_tiles = 3;

// The tiles of one kind of problem: the coarse one; a finer one, or one with more keys; one whose
// warpgroups split the keys. COLS, WGS, BN, STAGES, QB, MASKS, TRIM, SPLIT.
template <typename T>
void fill_masked(Entry (&table)[k_tiles], int64_t dim) {
  if (dim <= 64) {
    table[0] = entry_of<Shape<T, 64, 3, 128, 2, 2, 2>>();
    table[1] = table[2] = entry_of<Shape<T, 64, 2, 128, 2, 2, 2>>();
  } else {
    table[0] = table[1] = table[2] = entry_of<Shape<T, 128, 2, 128, 2, 2, 1>>();
  }
}

template <typename T, bool TRIM>
void fill_tiles(Entry (&table)[k_tiles], int64_t dim) {
  if (dim <= 64) {
    table[0] = entry_of<Shape<T, 64, 3, 128, 4, 2, 0, TRIM>>();
    table[1] = entry_of<Shape<T, 64, 2, 128, 4, 2, 0, TRIM>>();
    table[2] = entry_of<Shape<T, 64, 2, 128, 4, 2, 0, false, true>>();
  } else if (dim <= 80) {
    table[0] = table[1] = table[2] = entry_of<Shape<T, 80, 2, 128, 2, 2, 0, TRIM>>();
  } else if (dim <= 96) {
    table[0] = table[1] = table[2] = entry_of<Shape<T, 96, 2, 128, 2, 2, 0, TRIM>>();
  } else if (dim <= 128) {
    table[0] = table[1] = entry_of<Shape<T, 128, 2, 128, 2, 2, 0, TRIM>>();
    if (!TRIM) table[1] = entry_of<Shape<T, 128, 2, 160, 2>>();
    table[2] = entry_of<Shape<T, 128, 2, 128, 2, 2, 0, false, true>>();
  } else if (dim <= 160) {
    table[0] = table[1] = table[2] = entry_of<Shape<T, 160, 2, 112, 2, 1, 0, TRIM>>();
  } else if (dim <= 192) {
    table[0] = table[1] = table[2] = entry_of<Shape<T, 192, 2, 112, 2, 1, 0, TRIM>>();
  } else {
    table[0] = table[1] = table[2] = entry_of<Shape<T, 256, 2, 80, 2, 1, 0, TRIM>>();
  }
}

template <typename T>
void fill_tiles(Entry (&table)[k_tiles], const wb_sdpa_problem& p) {
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.mask != WB_MASK_NONE) return fill_masked<T>(table, dim);
  if (TRIM_CAUSAL && p.causal != WB_CAUSAL_NONE) return fill_tiles<T, true>(table, dim);
  fill_tiles<T, false>(table, dim);
}

// The tile whose rounds over the device cost less. A row of the fine tile costs 15 % more than of
// the coarse one, or 5 % under a causal rule, where the coarse one masks more; a row of the split
// one 25 % more. Of tiles that differ in keys the one with more costs 3 % less a key. Measured in
// docs/kernels.md.
int choose_tile(const Entry (&table)[k_tiles], const wb_sdpa_problem& p, int sm_count) {
  if constexpr (TILE_INDEX >= 0) {
    return std::min(TILE_INDEX, k_tiles - 1);
  } else {
    const auto cost = [&](int i, int percent) {
      const int64_t tiles = p.batch * p.heads_q * ((p.seq_q + table[i].rows - 1) / table[i].rows);
      return (tiles + sm_count - 1) / sm_count * table[i].rows * percent;
    };
    const auto rounded = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
    const int64_t keys[2] = {rounded(p.seq_kv, table[0].keys), rounded(p.seq_kv, table[1].keys)};
    const bool by_keys = table[0].keys < table[1].keys;
    const int percent = by_keys ? 100 : p.causal == WB_CAUSAL_NONE ? 115 : 105;
    const bool second = by_keys ? keys[1] * 97 < keys[0] * 100 : cost(1, percent) < cost(0, 100);
    const int64_t least = second ? cost(1, percent) : cost(0, 100);
    return cost(2, 125) < least ? 2 : int(second);
  }
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  unsigned blocks;
  ExpandParams expand;    // of the mask; no rows where the copy engine reads the caller's own
  const void* mapped[4];  // what the maps below were encoded for: q, k, v, the mask
  CUtensorMap maps[4];
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
  const int64_t most = p.mask == WB_MASK_NONE ? 256 : 128;
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > most || p.dim_v > most) {
    return fail(WB_UNSUPPORTED,
                "sm90_wgmma_pingpong: head dims are multiples of 8 up to 256, 128 with a mask");
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

constexpr size_t k_mask_at = 256;  // in the workspace, behind the counter

// How often the mask has each dimension, and whether it has to be made anew (prefill_mask.cuh).
void prepare_mask(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  const wb_strides& s = p.mask_strides;
  Params& k = plan.params;
  k.mask_batch = p.batch > 1 && s.batch != 0;
  k.mask_head = p.heads_q > 1 && s.head != 0;
  k.mask_row = p.seq_q > 1 && s.row != 0;
  const bool readable = p.mask == WB_MASK_ADDITIVE &&
                        (k.mask_row != 0 || (p.seq_q == 1 && p.seq_kv % 8 == 0)) && s.row >= 0 &&
                        s.head >= 0 && s.batch >= 0 && strides_divide_by(s, 8);
  if (readable) return;
  ExpandParams& e = plan.expand;
  e.strides = s;
  e.batches = k.mask_batch ? int(p.batch) : 1;
  e.heads = k.mask_head ? int(p.heads_q) : 1;
  e.rows = k.mask_row ? int(p.seq_q) : 64;  // one row for all: every warpgroup reads these 64
  if (!k.mask_row) e.strides.row = 0;
  e.keys = int(p.seq_kv);
  e.pitch = int((p.seq_kv + 7) / 8 * 8);
  e.boolean = p.mask == WB_MASK_BOOL;
  e.vector_loads = p.seq_kv % 8 == 0 && strides_divide_by(s, 8);
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
    fill_tiles<__half>(table, p);
  } else {
    fill_tiles<__nv_bfloat16>(table, p);
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
  k.scale = std::max(float(std::fabs(p.scale)), 0x1p-100f);
  if (p.mask != WB_MASK_NONE) prepare_mask(plan);
  plan.blocks = unsigned(PERSISTENT ? std::min(k.tiles, sm_count) : k.tiles);
  return WB_OK;
}

// The mask that the kernel reads: the caller's own or the one made from it.
const char* map_mask(wb_sdpa_plan& plan, const void* mask) {
  const wb_sdpa_problem& p = plan.problem;
  const ExpandParams& e = plan.expand;
  if (e.rows > 0) {
    const wb_strides made = {int64_t(e.heads) * e.rows * e.pitch, int64_t(e.rows) * e.pitch,
                             e.pitch};
    return encode_bhsd_map(&plan.maps[3], mask, p.dtype, e.batches, e.heads, e.rows, e.pitch, made,
                           64);
  }
  const Params& k = plan.params;
  return encode_bhsd_map(&plan.maps[3], mask, p.dtype, k.mask_batch ? p.batch : 1,
                         k.mask_head ? p.heads_q : 1, p.seq_q, p.seq_kv, p.mask_strides, 64);
}

int map_inputs(wb_sdpa_plan& plan, const wb_sdpa_args& args, const void* mask) {
  const wb_sdpa_problem& p = plan.problem;
  const void* bases[4] = {args.q, args.k, args.v, mask};
  if (std::equal(bases, bases + 4, plan.mapped)) return WB_OK;
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
  if (why == nullptr && mask != nullptr) why = map_mask(plan, mask);
  if (why != nullptr) return fail(WB_FAILED, "sm90_wgmma_pingpong: mapping the inputs: %s", why);
  std::copy(bases, bases + 4, plan.mapped);
  return WB_OK;
}

// Launches the making of the mask, where one has to be made.
cudaError_t make_mask(const wb_sdpa_plan& plan, const void* from, void* to, cudaStream_t stream) {
  ExpandParams params = plan.expand;
  params.from = from;
  params.to = to;
  const int64_t pieces = int64_t(params.batches) * params.heads * params.rows * (params.pitch / 8);
  const int64_t blocks = (pieces + k_expand_threads - 1) / k_expand_threads;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(std::min<int64_t>(blocks, 1 << 20)));
  config.blockDim = dim3(k_expand_threads);
  config.stream = stream;
  return cudaLaunchKernelEx(
      &config, plan.problem.dtype == WB_F16 ? &expand_mask<__half> : &expand_mask<__nv_bfloat16>,
      params);
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
  const ExpandParams& e = plan->expand;
  if (e.rows > 0) return k_mask_at + size_t(e.batches) * e.heads * e.rows * e.pitch * 2;
  return plan->blocks < unsigned(plan->params.tiles) ? sizeof(int) : 0;
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  if (wb_sdpa_workspace_bytes(plan) > 0 && args->workspace == nullptr) {
    return fail(WB_FAILED, "forward: the workspace is missing");
  }
  const void* mask = plan->problem.mask == WB_MASK_NONE ? nullptr : args->mask;
  if (plan->expand.rows > 0) {
    void* made = static_cast<unsigned char*>(args->workspace) + k_mask_at;
    const cudaError_t error = make_mask(*plan, mask, made, static_cast<cudaStream_t>(args->stream));
    if (error != cudaSuccess) return fail_cuda("launching expand_mask", error);
    mask = made;
  }
  const int status = map_inputs(*plan, *args, mask);
  if (status != WB_OK) return status;
  Params params = plan->params;
  params.out = args->out;
  if (plan->blocks < unsigned(plan->params.tiles)) {
    params.counter = static_cast<int*>(args->workspace);
  }
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(plan->blocks);
  config.blockDim = dim3(unsigned(plan->entry.threads));
  config.dynamicSmemBytes = size_t(plan->entry.smem_bytes);
  config.stream = static_cast<cudaStream_t>(args->stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, plan->maps[0],
                                               plan->maps[1], plan->maps[2], plan->maps[3], params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching wgmma_pingpong", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
