// SPDX-License-Identifier: MIT
// sm90_few_keys: attention on up to 288 keys without masks, as cross attention on a text has it, and
// batches of short sequences.
//
// Idea. K and V of a head stay in shared memory while a block's tiles of 64 queries go by: all keys
// are one step of up to 208, or two. No pipeline of K and V is left, and in one step no running
// maximum: what remains is a stream of Q in and O out beside small products. Nothing orders the
// warpgroups, so one has its softmax while others multiply or wait for Q. A warpgroup loads Q by TMA
// a tile ahead and copies O out by TMA from the buffer in which Q lay. Blocks have equal runs of
// tiles, head after head; the next head's K and V are loaded, step by step, by the last warpgroup to
// leave the one before, so no warp is spent on loading and no warpgroup waits for another.
//
// Parent: sm90_wgmma_pingpong, whose tiles each load K and V anew and whose turns at the tensor
// cores are of no use where a tile is one step. Floor: Q and O once through the memory, 40 us for
// 168 MB. Predicted: 1.5x over cuDNN.
// Limits: no masks, no causal rule. From 129 keys on D above 64 leaves room for two or three
// warpgroups only, and sm90_wgmma_carry is as fast or faster. With few tiles a head, warpgroups go
// through heads that they have no tile of.
//
// Worklog
//   measured  H200, hot burst, beside cuDNN, on 64 to 128 keys: sessions/h200-few-keys.
//   tried     as a kernel for D 64 alone in steps of 128 to 208 keys, up to four: ahead of
//             sm90_wgmma_carry to 257 keys, 0.83x to 0.96x of it on 384 to 577; two warpgroups
//             0.92x of three (docs/kernels.md names its session).
//   changed   to 288 keys in two steps: sessions/h200-short-batches.

#include "few_keys.cuh"
#include "sm90/tma_inputs.cuh"

#include <algorithm>

using namespace wb::gpu;

namespace {

using KernelPointer = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, Params);

struct Entry {
  KernelPointer kernel;
  int keys, threads, smem_bytes, blocks_per_sm;
};

template <class S>
Entry entry_of() {
  return {reinterpret_cast<KernelPointer>(&few_keys<S>), S::BN, S::k_threads, S::k_smem_bytes,
          S::BPS};
}

template <typename T, int KEYS, int STEPS = 1>
Entry entry_of_dim(int64_t dim) {
  if (dim <= 64) return entry_of<Shape<T, 64, KEYS, STEPS>>();
  if constexpr (KEYS != 128 || STEPS > 1) {  // there ptxas spills at 80 columns, though not at 128
    if (dim <= 80) return entry_of<Shape<T, 80, KEYS, STEPS>>();
  }
  return entry_of<Shape<T, 128, KEYS, STEPS>>();
}

template <typename T>
Entry entry_of_problem(const wb_sdpa_problem& p) {
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.seq_kv <= 80) return entry_of_dim<T, 80>(dim);
  if (p.seq_kv <= 128) return entry_of_dim<T, 128>(dim);
  if (p.seq_kv <= 208 && dim <= 64) return entry_of<Shape<T, 64, 208>>();
  return p.seq_kv <= 256 ? entry_of_dim<T, 128, 2>(dim) : entry_of_dim<T, 144, 2>(dim);
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  unsigned blocks;
  const void* mapped[4];  // what the maps below were encoded for
  CUtensorMap maps[4];    // Q, K, V, O
};

namespace {

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm90_few_keys: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE || p.causal != WB_CAUSAL_NONE) {
    return fail(WB_UNSUPPORTED, "sm90_few_keys: no masks, no causal rule");
  }
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > 128 || p.dim_v > 128 || p.seq_kv > 288) {
    return fail(WB_UNSUPPORTED,
                "sm90_few_keys: head dims are multiples of 8 up to 128, keys up to 288");
  }
  if (!aligned_for_tma(p)) {
    return fail(WB_UNSUPPORTED, "sm90_few_keys: strides must be multiples of 8 elements");
  }
  if (p.seq_q > (1 << 29) || p.batch * p.heads_q > (1 << 30) / ((p.seq_q + 63) / 64)) {
    return fail(WB_UNSUPPORTED, "sm90_few_keys: more rows or heads than fit its counts");
  }
  return WB_OK;
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;
  plan.entry = p.dtype == WB_F16 ? entry_of_problem<__half>(p) : entry_of_problem<__nv_bfloat16>(p);
  const cudaError_t error = cudaFuncSetAttribute(
      plan.entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);
  Params& k = plan.params;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim_v = int(p.dim_v);
  k.row_blocks = int((p.seq_q + 63) / 64);
  k.tiles = int(p.batch * p.heads_q) * k.row_blocks;
  k.negate = p.scale < 0.0;
  k.scale_log2 = scale_log2_of(p);
  plan.blocks = unsigned(std::min(k.tiles, device.sm_count * plan.entry.blocks_per_sm));
  return WB_OK;
}

int map_tensors(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const void* bases[4] = {args.q, args.k, args.v, args.out};
  if (std::equal(bases, bases + 4, plan.mapped)) return WB_OK;
  const uint32_t keys = uint32_t(plan.entry.keys);
  const char* why = encode_qkv_maps(plan.maps, args, p, 64, keys, keys);
  if (why == nullptr) {
    why = encode_bhsd_map(&plan.maps[3], args.out, p.dtype, p.batch, p.heads_q, p.seq_q, p.dim_v,
                          p.out, 64);
  }
  if (why != nullptr) return fail(WB_FAILED, "sm90_few_keys: mapping the tensors: %s", why);
  std::copy(bases, bases + 4, plan.mapped);
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
  if (status == WB_OK) status = map_tensors(*plan, *args);
  if (status != WB_OK) return status;
  Params params = plan->params;
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config =
      launch_config(dim3(plan->blocks), plan->entry.threads, plan->entry.smem_bytes, args->stream);
  cudaLaunchAttribute attribute = {};
  allow_early_start(config, &attribute, EARLY_START != 0);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, plan->maps[0],
                                               plan->maps[1], plan->maps[2], plan->maps[3], params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching few_keys", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
