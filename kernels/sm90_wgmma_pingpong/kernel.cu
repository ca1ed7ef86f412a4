// SPDX-License-Identifier: MIT
// sm90_wgmma_pingpong: prefill flash attention with one producer and two or three consumer
// warpgroups, for head dims up to 256 and, up to 128, with masks.
//
// Idea. One block an SM; a producer warpgroup that gave its registers away loads Q, K and V by TMA,
// so the consumer warpgroups (64 rows each) never stop to load. An ordered barrier lets one of them
// issue its products at a time: while one has its softmax, the products of the other keep the
// tensor cores busy, and within a warpgroup the products P V of a step run beside its next softmax.
// A tile scheduler deals work tiles out from a counter in the workspace: the next tile's Q and K
// are under way during the epilogue. Tiles go longest first (causal) within sections of heads whose
// K and V fit the L2.
//
// Parent: sm90_wgmma_flash, whose two warpgroups have nothing that orders them and whose first
// thread loads. Hypothesis: the parent's products wait for its own softmax and for late loads.
// Predicted: D 128 full S 4k level with cuDNN, causal 1.05x; D 64 full 1.03x.
// Since then, predicted -> measured over the fastest rival: code for seven widths (D 80 1.2x ->
// 1.21, D 256 0.9x -> 1.10); masks by TMA (1.6x -> 1.5); warpgroups that end at their own last key
// (1.1x at S 512 -> nothing there, 1.06 at S 2k); 160 keys a step for D 128 full (1.03x -> 1.03
// from S 2k on); no ordered barrier above 128 columns (level -> 1.05); keys split between the
// warpgroups of a small grid (1.8x at 64 queries -> 1.67), between three by TILE_INDEX 3 (1.13x of
// two -> 0.91 to 0.95 at D 128, 1.25 and 1.36 at D 64, where sm90_wgmma_flash is ahead of both:
// sessions/h200-few-rows). Exponentials on the FMA units and Q in registers were tried and taken
// out.
//
// Worklog
//   measured  H200, hot burst, over the fastest backend of PyTorch: 1.53x on masks at S 1024,
//             1.65x on 64 queries and 8192 keys (sessions/h200-part1-whole).

#include "pingpong.cuh"
#include "sm90/prefill_plan.cuh"

#include <algorithm>
#include <type_traits>

#ifndef TILE_INDEX  // index into the tile table of a head dim; -1 chooses by the grid; 3: as 2, the
                    // split tile by three warpgroups
#define TILE_INDEX -1
#endif
#ifndef TRIM_CAUSAL  // 1: under a causal rule each warpgroup ends at its own last key
#define TRIM_CAUSAL 1
#endif
#ifndef PERSISTENT  // 1: one block an SM takes tile after tile; 0: a block a tile
#define PERSISTENT 1
#endif

using namespace wb::gpu;

namespace wb::gpu {

inline constexpr char k_name[] = "sm90_wgmma_pingpong";

struct Kernels {
  using Pointer = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, Params);

  template <class Base>
  static PrefillEntry<Pointer> shape() {
    using S = Shape<std::conditional_t<TILE_INDEX == 3 && Base::SPLIT, Thirds<Base>, Base>>;
    return prefill_entry<S>(reinterpret_cast<Pointer>(&wgmma_pingpong<S>));
  }
};

}  // namespace wb::gpu

struct wb_sdpa_plan : PrefillPlan<Kernels, Params, 4> {};

namespace {

// Heads that the tile scheduler interleaves: under a causal rule as many as the L2 holds K and V
// of, so that long row blocks of many heads come first; else one after the other.
int64_t heads_of_a_section(const wb_sdpa_problem& p) {
  if (p.causal == WB_CAUSAL_NONE) return 1;
  const int64_t bytes = p.seq_kv * (p.dim + p.dim_v) * 2;
  const int64_t group = p.heads_q / p.heads_kv;
  return std::clamp((int64_t(32) << 20) / bytes * group, group, p.batch * p.heads_q);
}

int prepare(wb_sdpa_plan& plan) {
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
    return cudaLaunchKernelEx(&config, plan->entry.kernel, maps[0], maps[1], maps[2], maps[3],
                              params);
  };
  return forward_prefill(k_name, *plan, args, false, launch);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
