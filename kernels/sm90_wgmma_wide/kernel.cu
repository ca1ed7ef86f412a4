// SPDX-License-Identifier: MIT
// sm90_wgmma_wide: 16-bit flash attention for head dims above 256, up to 512.
//
// Idea. 64 rows of O at 512 columns fill the registers of two warpgroups, so O is split by columns:
// the first warpgroup has the scores, the softmax and the first 256 columns, the second gets P
// through shared memory and has the other 256. Scores of the next step are issued with P V of the
// last, whose tail the softmax overlaps. One tile of K and one of V fit: K is released in slabs
// of 64 columns and V in chunks of 16 keys, so that each is refilled while it is still being read.
//
// Parent: sm90_wgmma_pingpong. Hypothesis: PyTorch has only its sm_80 kernel here, which keeps O in
// device memory (139 TFLOP/s at S 4k). Predicted: 2.0x (64 rows a block read 128 KB of K and V
// every step; the L2's 5.6 TB/s allow 2.5x), 2.8x with two blocks of a cluster that send each other
// half (multicast).
//
// Worklog
//   measured  H200, hot burst: 3.26x [3.25, 3.27] the fastest backend of PyTorch at D 512, S 4k
//             (sessions/h200-part1-whole). With the cluster 1.0x of that, so it was taken out
//             again.

#include "sm90/tma_inputs.cuh"
#include "wide.cuh"

#include <algorithm>

namespace {

using namespace wb::gpu;

using KernelPointer = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, Params);

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  KernelPointer kernel;
  unsigned blocks;
  const void* mapped[3];  // what the maps below were encoded for: q, k, v
  CUtensorMap maps[3];
};

namespace {

int64_t row_blocks_of(const wb_sdpa_problem& p) {
  return (p.seq_q + Wide::k_rows - 1) / Wide::k_rows;
}

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_wide: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_wgmma_wide: no masks");
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || dim <= 256 || dim > Wide::DP) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_wide: head dims are multiples of 8 from 264 to 512");
  }
  if (!aligned_for_tma(p)) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_wide: strides must be multiples of 8 elements");
  }
  if (p.seq_kv > (1 << 29) || p.seq_q > (1 << 29) ||
      p.batch * p.heads_q * row_blocks_of(p) > (1 << 29)) {
    return fail(WB_UNSUPPORTED, "sm90_wgmma_wide: more rows, keys or heads than fit its counts");
  }
  return WB_OK;
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  plan.kernel = p.dtype == WB_F16 ? reinterpret_cast<KernelPointer>(&wgmma_wide<__half>)
                                  : reinterpret_cast<KernelPointer>(&wgmma_wide<__nv_bfloat16>);
  const cudaError_t error = cudaFuncSetAttribute(
      plan.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Wide::k_smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);
  Params& k = plan.params;
  set_problem_params(k, p);
  k.negate = p.scale < 0.0;
  k.row_blocks = int(row_blocks_of(p));
  plan.blocks = unsigned(p.batch * p.heads_q * k.row_blocks);
  return WB_OK;
}

int map_inputs(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const void* bases[3] = {args.q, args.k, args.v};
  if (std::equal(bases, bases + 3, plan.mapped)) return WB_OK;
  const char* why =
      encode_qkv_maps(plan.maps, args, p, Wide::k_rows, Wide::BN, Wide::BN / Wide::k_chunks);
  if (why != nullptr) return fail(WB_FAILED, "sm90_wgmma_wide: mapping the inputs: %s", why);
  std::copy(bases, bases + 3, plan.mapped);
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
  int status = check_args(plan->problem, args);
  if (status != WB_OK) return status;
  status = map_inputs(*plan, *args);
  if (status != WB_OK) return status;
  Params params = plan->params;
  params.out = args->out;
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  const cudaLaunchConfig_t config =
      launch_config(dim3(plan->blocks), Wide::k_threads, Wide::k_smem_bytes, args->stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->kernel, plan->maps[0], plan->maps[1],
                                               plan->maps[2], params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching wgmma_wide", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
