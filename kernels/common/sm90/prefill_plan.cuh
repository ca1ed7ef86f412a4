// SPDX-License-Identifier: MIT
// Host side of the prefill kernels that take their tiles from prefill_tiles.cuh: the problems they
// reach, the plan, the mask that TMA reads, the launch. Included by sm90_wgmma_carry and
// sm90_wgmma_pingpong. Workspace: the tile scheduler's counter, and from k_mask_at on the mask made
// anew.
#pragma once

#include "sm90/prefill_mask.cuh"
#include "sm90/prefill_tiles.cuh"
#include "sm90/tma_inputs.cuh"

#include <cstddef>

namespace wb::gpu {

// Maps: of Q, K, V, the mask and, where it is 5, O.
template <class Kernels, class Params, int Maps>
struct PrefillPlan {
  wb_sdpa_problem problem;
  Params params;
  PrefillEntry<typename Kernels::Pointer> entry;
  unsigned blocks;
  ExpandParams expand;       // of the mask; no rows where TMA reads the caller's own
  const void* mapped[Maps];  // what the maps below were encoded for
  CUtensorMap maps[Maps];
};

inline int check_prefill_reach(const char* kernel, const wb_sdpa_problem& p) {
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "%s: f16 and bf16 only", kernel);
  }
  const int64_t most = p.mask == WB_MASK_NONE ? 256 : 128;
  if (p.dim % 8 != 0 || p.dim_v % 8 != 0 || p.dim > most || p.dim_v > most) {
    return fail(WB_UNSUPPORTED, "%s: head dims are multiples of 8 up to 256, 128 with a mask",
                kernel);
  }
  if (!aligned_for_tma(p)) {
    return fail(WB_UNSUPPORTED, "%s: strides must be multiples of 8 elements", kernel);
  }
  const int64_t tiles = p.batch * p.heads_q * ((p.seq_q + 127) / 128);
  if (p.seq_kv > (1 << 29) || p.seq_q > (1 << 29) || tiles > (1 << 30)) {
    return fail(WB_UNSUPPORTED, "%s: more rows, keys or heads than fit its counts", kernel);
  }
  return WB_OK;
}

// How often the mask has each dimension, and whether it has to be made anew (prefill_mask.cuh).
template <class Plan>
void prepare_mask(Plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  const wb_strides& s = p.mask_strides;
  auto& k = plan.params;
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

// section_heads: how many heads the tile scheduler interleaves. persistent: one block an SM takes
// tile after tile; else a block a tile.
template <class Kernels, bool TrimCausal, int TileIndex, class Plan>
int prepare_prefill(Plan& plan, int64_t section_heads, bool persistent) {
  const wb_sdpa_problem& p = plan.problem;
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;

  PrefillTable<Kernels> table;
  if (p.dtype == WB_F16) {
    fill_tiles<Kernels, __half, TrimCausal>(table, p);
  } else {
    fill_tiles<Kernels, __nv_bfloat16, TrimCausal>(table, p);
  }
  plan.entry = table[choose_tile<Kernels, TileIndex>(table, p, device.sm_count)];
  cudaError_t error = cudaFuncSetAttribute(
      plan.entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  auto& k = plan.params;
  set_problem_params(k, p);
  k.negate = p.scale < 0.0;
  k.row_blocks = int((p.seq_q + plan.entry.rows - 1) / plan.entry.rows);
  k.heads = int(p.batch * p.heads_q);
  k.section_heads = int(section_heads);
  k.tiles = k.heads * k.row_blocks;
  k.scale = std::max(float(std::fabs(p.scale)), 0x1p-100f);
  if (p.mask != WB_MASK_NONE) prepare_mask(plan);
  plan.blocks = unsigned(persistent ? std::min(k.tiles, device.sm_count) : k.tiles);
  return WB_OK;
}

inline constexpr size_t k_mask_at = 256;  // in the workspace, behind the counter

template <class Plan>
size_t prefill_workspace_bytes(const Plan& plan) {
  const ExpandParams& e = plan.expand;
  if (e.rows > 0) return k_mask_at + size_t(e.batches) * e.heads * e.rows * e.pitch * 2;
  return plan.blocks < unsigned(plan.params.tiles) ? sizeof(int) : 0;
}

// The mask that the kernel reads: the caller's own or the one made from it.
template <class Plan>
const char* map_mask(Plan& plan, const void* mask) {
  const wb_sdpa_problem& p = plan.problem;
  const ExpandParams& e = plan.expand;
  if (e.rows > 0) {
    const wb_strides made = {int64_t(e.heads) * e.rows * e.pitch, int64_t(e.rows) * e.pitch,
                             e.pitch};
    return encode_bhsd_map(&plan.maps[3], mask, p.dtype, e.batches, e.heads, e.rows, e.pitch, made,
                           64);
  }
  const auto& k = plan.params;
  return encode_bhsd_map(&plan.maps[3], mask, p.dtype, k.mask_batch ? p.batch : 1,
                         k.mask_head ? p.heads_q : 1, p.seq_q, p.seq_kv, p.mask_strides, 64);
}

template <class Kernels, class Params, int Maps>
int map_prefill_tensors(const char* kernel, PrefillPlan<Kernels, Params, Maps>& plan,
                        const wb_sdpa_args& args, const void* mask) {
  const wb_sdpa_problem& p = plan.problem;
  const void* bases[5] = {args.q, args.k, args.v, mask, args.out};
  if (std::equal(bases, bases + Maps, plan.mapped)) return WB_OK;
  const uint32_t keys = uint32_t(plan.entry.keys);
  const char* why = encode_qkv_maps(plan.maps, args, p, 64, keys, keys);
  if (why == nullptr && mask != nullptr) why = map_mask(plan, mask);
  if constexpr (Maps == 5) {
    if (why == nullptr) {  // O: 16 rows of a warp
      why = encode_bhsd_map(&plan.maps[4], args.out, p.dtype, p.batch, p.heads_q, p.seq_q, p.dim_v,
                            p.out, 16);
    }
  }
  if (why != nullptr) return fail(WB_FAILED, "%s: mapping the inputs: %s", kernel, why);
  std::copy(bases, bases + Maps, plan.mapped);
  return WB_OK;
}

// Launches the making of the mask.
template <class Plan>
cudaError_t make_mask(const Plan& plan, const void* from, void* to, cudaStream_t stream) {
  ExpandParams params = plan.expand;
  params.from = from;
  params.to = to;
  const int64_t pieces = int64_t(params.batches) * params.heads * params.rows * (params.pitch / 8);
  const int64_t blocks = (pieces + k_expand_threads - 1) / k_expand_threads;
  const cudaLaunchConfig_t config = launch_config(
      dim3(unsigned(std::min<int64_t>(blocks, 1 << 20))), k_expand_threads, 0, stream);
  return cudaLaunchKernelEx(
      &config, plan.problem.dtype == WB_F16 ? &expand_mask<__half> : &expand_mask<__nv_bfloat16>,
      params);
}

// A forward call but for its launch: the workspace checked, the mask made where one has to be, the
// tensors mapped. launch(config, maps, params) launches the kernel.
template <class Kernels, class Params, int Maps, class Launch>
int forward_prefill(const char* kernel, PrefillPlan<Kernels, Params, Maps>& plan,
                    const wb_sdpa_args* args, bool early_start, Launch launch) {
  int status = check_args(plan.problem, args);
  if (status != WB_OK) return status;
  if (prefill_workspace_bytes(plan) > 0 && args->workspace == nullptr) {
    return fail(WB_FAILED, "forward: the workspace is missing");
  }
  const void* mask = plan.problem.mask == WB_MASK_NONE ? nullptr : args->mask;
  if (plan.expand.rows > 0) {
    void* made = static_cast<unsigned char*>(args->workspace) + k_mask_at;
    const cudaError_t error = make_mask(plan, mask, made, static_cast<cudaStream_t>(args->stream));
    if (error != cudaSuccess) return fail_cuda("launching expand_mask", error);
    mask = made;
  }
  status = map_prefill_tensors(kernel, plan, *args, mask);
  if (status != WB_OK) return status;
  Params params = plan.params;
  params.out = args->out;
  if (plan.blocks < unsigned(params.tiles)) params.counter = static_cast<int*>(args->workspace);
  params.lse = plan.problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config =
      launch_config(dim3(plan.blocks), plan.entry.threads, plan.entry.smem_bytes, args->stream);
  cudaLaunchAttribute attribute = {};
  allow_early_start(config, &attribute, early_start);
  const cudaError_t error = launch(config, plan.maps, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching the kernel", error);
}

}  // namespace wb::gpu
