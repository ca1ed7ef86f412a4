// SPDX-License-Identifier: MIT
// sm90_wgmma_carry: prefill flash attention whose warpgroups never stop between tiles, for head
// dims up to 256 and, up to 128, with masks.
//
// Idea. The parent's block, ping-pong and tile scheduler, and: the first Q K^T of a tile is issued
// with the last P V of the one before, so the tensor cores have work while O is stored; O leaves by
// TMA; descriptors of wgmma operands are moved on by one addition; V is waited for behind the
// softmax, outside the ordered barrier, which also keeps the compiler from waiting for P V in front
// of it; up to 64 columns a causal half step has half a softmax; the scheduler interleaves fewer
// heads, so that the memory is read evenly; the kernel may start while the one before drains. Short
// heads of 64 columns are scheduled whole instead of tile by tile (heads.cuh), by a rule.
//
// Parent: sm90_wgmma_pingpong, whose warpgroups all drain at the end of a tile together.
// Hypothesis: at S 512 a third of a tile's time is its beginning and end. Predicted: S 512 1.10x of
// the parent, D 128 full level with cuDNN from S 1k on; by heads, D 64 causal S 512 1.22 of cuDNN.
//
// Worklog
//   measured  H200, beside cuDNN: in lasting work ahead on 43 of 45 prefill problems, D 64 1.18x
//             (sessions/h200-part2-whole); carrying over 1.03x, short heads by heads 1.24x at D 64
//             causal S 512 (sessions/hopper-prefill, sessions/hopper-prefill-ends). Tiles of 192
//             rows at D 72 to 96 1.20x of tiles of 128, as predicted: D 72 1.35, D 80 1.10, D 88
//             1.19, D 96 1.07, causal D 72 1.23, D 88 1.29 (sessions/h200-rows-192). Selections
//             before it, not kept: 96 keys a step everywhere 1.108x, 80 in three stages 1.112x,
//             128 0.932x with spills above 72 columns, and 112 keys under a causal rule hung, as
//             an assertion on the stages was too weak. Slower than the parent for D 256 full from
//             S 8k on, with masks and for chunked queries, where the parent stays the better one.

#include "carry.cuh"
#include "heads.cuh"
#include "sm90/prefill_plan.cuh"

#include <algorithm>

#ifndef TILE_INDEX  // index into the tile table of a head dim; -1 chooses by the grid
#define TILE_INDEX -1
#endif
#ifndef TRIM_CAUSAL  // 1: under a causal rule each warpgroup ends at its own last key
#define TRIM_CAUSAL 1
#endif
#ifndef HEADS  // 1: by heads wherever they can be; 0: tile by tile; -1: by heads where it pays, if
               // TILE_INDEX chooses as well
#define HEADS -1
#endif
#ifndef PERSISTENT  // 1: one block an SM takes tile after tile; 0: a block a tile
#define PERSISTENT 1
#endif

using namespace wb::gpu;

namespace wb::gpu {

inline constexpr char k_name[] = "sm90_wgmma_carry";

struct Kernels {
  using Pointer = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, Params);

  template <class Base>
  static PrefillEntry<Pointer> shape() {
    using S = Shape<Base>;
    return prefill_entry<S>(reinterpret_cast<Pointer>(&wgmma_carry<S>));
  }
};

}  // namespace wb::gpu

struct wb_sdpa_plan : PrefillPlan<Kernels, Params, 5> {
  void (*heads_kernel)(CUtensorMap, CUtensorMap, CUtensorMap, HeadParams);  // nullptr: by tiles
  HeadCuts heads;
};

namespace {

// Heads that the tile scheduler interleaves: under a causal rule so many that long row blocks of
// many heads come first, yet so few that the memory reads K and V all the time, not at the start of
// a section alone, and that the L2 holds them; else one after the other.
int64_t heads_of_a_section(const wb_sdpa_problem& p) {
  if (p.causal == WB_CAUSAL_NONE) return 1;
  const int64_t dims = p.dim + p.dim_v, group = p.heads_q / p.heads_kv;
  const int64_t heads_kv = std::min((int64_t(32) << 20) / (p.seq_kv * dims * 2), 4096 / dims);
  return std::clamp(heads_kv * group, group, p.batch * p.heads_q);
}

#if HEADS != 0
template <typename T>
int prepare_heads(wb_sdpa_plan& plan, int sm_count) {
  using S = HeadShape<T, false>;
  const wb_sdpa_problem& p = plan.problem;
  plan.heads_kernel =
      p.causal == WB_CAUSAL_NONE ? &wgmma_heads<S> : &wgmma_heads<HeadShape<T, true>>;
  plan.entry = {nullptr, k_unit_rows, S::BN, S::k_threads, S::k_smem_bytes};
  const cudaError_t error = cudaFuncSetAttribute(
      plan.heads_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);
  Params& k = plan.params;
  set_problem_params(k, p);
  k.negate = p.scale < 0.0;
  k.row_blocks = int(units_of_a_head(p));
  plan.heads = cut_heads(p, k.causal_offset, sm_count);
  plan.blocks = unsigned(plan.heads.blocks);
  k.tiles = plan.heads.blocks;  // none is handed out: no counter
  return WB_OK;
}
#endif

int prepare(wb_sdpa_plan& plan) {
#if HEADS != 0
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;
  const wb_sdpa_problem& p = plan.problem;
  if (HEADS > 0 ? heads_reach(p) : TILE_INDEX < 0 && heads_pay(p, device.sm_count)) {
    return p.dtype == WB_F16 ? prepare_heads<__half>(plan, device.sm_count)
                             : prepare_heads<__nv_bfloat16>(plan, device.sm_count);
  }
#endif
  return prepare_prefill<Kernels, TRIM_CAUSAL != 0, TILE_INDEX>(
      plan, heads_of_a_section(plan.problem), PERSISTENT != 0);
}

}  // namespace

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  const auto check_reach = [](const wb_sdpa_problem& p) { return check_prefill_reach(k_name, p); };
  return create_plan(problem, out, check_reach, prepare);
}

extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan) {
  return prefill_workspace_bytes(*plan);
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  const auto launch = [&](const cudaLaunchConfig_t& config, const CUtensorMap* maps,
                          const Params& params) {
    if (plan->heads_kernel == nullptr) {
      return cudaLaunchKernelEx(&config, plan->entry.kernel, maps[0], maps[1], maps[2], maps[3],
                                maps[4], params);
    }
    HeadParams with_cuts = {params};
    std::copy(plan->heads.cuts, plan->heads.cuts + k_most_cuts + 1, with_cuts.cuts);
    return cudaLaunchKernelEx(&config, plan->heads_kernel, maps[0], maps[1], maps[2], with_cuts);
  };
  return forward_prefill(k_name, *plan, args, EARLY_START != 0, launch);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
