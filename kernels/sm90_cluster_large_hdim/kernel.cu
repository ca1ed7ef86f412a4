// SPDX-License-Identifier: MIT
// sm90_cluster_large_hdim: f32 attention with head dims of 132 to 8192.
//
// Idea. With a head dim this large there are few rows and few heads, so rows alone cannot fill the
// device. A cluster of 16 (or 8) blocks takes one tile of query rows; each block owns as large a
// part of the columns of Q, K, V and O and reads them once. Scores are sums over columns: every
// block computes its partial scores, pushes each row to the row's owner in the cluster (st.async),
// the owners add the parts, keep the running maximum and push the probabilities back to all. P V
// needs no more exchange. Longer KV is taken in blocks of keys with an online softmax.
//
// v1 computed with f32 FFMA, which shared memory could not feed; v2 by three tf32 products on
// mma.sync (tf32x3.cuh), at most 32 columns or one step of keys summed up there. v3, this file:
// both products are transposed, so that a warp reads and splits keys, or columns of V, of its own,
// and rows come in eights (two clusters at 8192 columns); where a step has 64 keys, four warps
// multiply as a warpgroup (64 rows a cluster at 2048 columns); blocks meet at the start by a
// relaxed arrival, whose release had waited for all of Q and K; teams of warps load for themselves,
// and multiply a run of columns while the next one comes; the inverses of the sums arrive while P V
// is under way.
//
// Parent: none. Predicted: 9.8 to 7.5 us at 2048 columns.
//
// Worklog
//   measured  H200, hot burst: 7.9 us there; 8.7x the fastest backend of PyTorch over four head
//             dims, 5.8x at least (sessions/h200-part1-whole).

#include "large_hdim.cuh"
#include "sm90/cluster_launch.cuh"

#include <algorithm>

#ifndef CLUSTER_RANKS  // blocks of a cluster, 8 or 16, which share the columns; 0 chooses by them
#define CLUSTER_RANKS 0
#endif
#ifndef BLOCK_ROWS  // query rows of a cluster, 8, 16, 32 or (where it exists) 64; 0 chooses by the
                    // grid
#define BLOCK_ROWS 0
#endif

namespace {

// ---- host ----------------------------------------------------------------------------------

using KernelPointer = void (*)(Params);

struct Entry {
  KernelPointer kernel;
  int ranks, rows, smem_bytes;
};

template <class S>
Entry entry_of() {
  return {&large_hdim<S>, S::RANKS, S::BM, S::k_smem_bytes};
}

// Steps of 64 keys, or of fewer where there are not more; at 512 columns K and V of 64 do not fit.
template <int RANKS, int BM>
Entry entry_for(int64_t dim, int64_t keys) {
  if (dim <= 32 * RANKS) {
    return keys <= 32 ? entry_of<Shape<RANKS, BM, 32, 32>>() : entry_of<Shape<RANKS, BM, 64, 32>>();
  }
  if (dim <= 64 * RANKS) {
    return keys <= 32 ? entry_of<Shape<RANKS, BM, 32, 64>>() : entry_of<Shape<RANKS, BM, 64, 64>>();
  }
  if (dim <= 128 * RANKS) {
    return keys <= 32 ? entry_of<Shape<RANKS, BM, 32, 128>>()
                      : entry_of<Shape<RANKS, BM, 64, 128>>();
  }
  if (dim <= 256 * RANKS) {
    return keys <= 32 ? entry_of<Shape<RANKS, BM, 32, 256>>()
                      : entry_of<Shape<RANKS, BM, 64, 256>>();
  }
  if constexpr (BM <= 16) {  // 32 rows of so few keys want more registers than there are
    if (keys <= 16) return entry_of<Shape<RANKS, BM, 16, 512>>();
  }
  return entry_of<Shape<RANKS, BM, 32, 512>>();
}

// 64 rows where warpgroups multiply and that many fit, else 32.
template <int RANKS>
Entry coarse_entry(int64_t dim, int64_t keys) {
  if (keys > 32 && dim > 32 * RANKS && dim <= 64 * RANKS) {
    return entry_of<Shape<RANKS, 64, 64, 64>>();
  }
  if (keys > 32 && dim > 64 * RANKS && dim <= 128 * RANKS) {
    return entry_of<Shape<RANKS, 64, 64, 128>>();
  }
  return entry_for<RANKS, 32>(dim, keys);
}

template <int RANKS>
Entry entry_of_rows(int rows, int64_t dim, int64_t keys) {
  if (rows == 8) return entry_for<RANKS, 8>(dim, keys);
  if (rows == 16) return entry_for<RANKS, 16>(dim, keys);
  if (rows == 32) return entry_for<RANKS, 32>(dim, keys);
  return coarse_entry<RANKS>(dim, keys);
}

// Clusters of 8 are cheaper where their blocks stay small. Few rows a cluster share its work more
// finely, but read K and V more often: the fewest whose clusters all have SMs of their own at once.
// Of the clusters that the device has SMs for, one finds no processing cluster with room.
Entry choose_entry(const wb_sdpa_problem& p, int64_t dim, int sm_count) {
  const int ranks = CLUSTER_RANKS > 0 ? CLUSTER_RANKS : dim <= 512 ? 8 : 16;
  const int places = sm_count / ranks - 1;
  int rows = BLOCK_ROWS > 0 ? BLOCK_ROWS : 8;
  if (BLOCK_ROWS == 0) {
    const auto clusters = [&] { return p.batch * p.heads_q * ((p.seq_q + rows - 1) / rows); };
    while (rows < 64 && rows < p.seq_q && clusters() > places) rows *= 2;
  }
  return ranks == 8 ? entry_of_rows<8>(rows, dim, p.seq_kv)
                    : entry_of_rows<16>(rows, dim, p.seq_kv);
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  dim3 grid;
};

namespace {

int check_reach(const wb_sdpa_problem& p) {
  if (p.dtype != WB_F32) return fail(WB_UNSUPPORTED, "sm90_cluster_large_hdim: f32 only");
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_cluster_large_hdim: no masks");
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (dim <= 128 || dim > 512 * (CLUSTER_RANKS > 0 ? CLUSTER_RANKS : 16) || p.dim % 4 != 0 ||
      p.dim_v % 4 != 0) {
    return fail(WB_UNSUPPORTED,
                "sm90_cluster_large_hdim: head dims are multiples of 4 from 132 to 8192; up to 128 "
                "sm90_f16x3_flash is faster and nearer");
  }
  if (!strides_divide_by(p.q, 4) || !strides_divide_by(p.k, 4) || !strides_divide_by(p.v, 4) ||
      !strides_divide_by(p.out, 4)) {
    return fail(WB_UNSUPPORTED, "sm90_cluster_large_hdim: strides must be multiples of 4 elements");
  }
  if (p.batch * p.heads_q > 65535 || p.seq_q > 65535 * (BLOCK_ROWS == 8 ? 8 : 16) ||
      p.seq_kv > (1 << 29)) {
    return fail(WB_UNSUPPORTED,
                "sm90_cluster_large_hdim: more rows, keys or heads than the grid holds");
  }
  return WB_OK;
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  DeviceFacts device;
  if (const int status = read_device(device); status != WB_OK) return status;

  plan.entry = choose_entry(p, std::max(p.dim, p.dim_v), device.sm_count);
  plan.grid =
      dim3(unsigned(plan.entry.ranks), unsigned((p.seq_q + plan.entry.rows - 1) / plan.entry.rows),
           unsigned(p.batch * p.heads_q));
  cudaError_t error = cudaFuncSetAttribute(
      plan.entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.entry.smem_bytes);
  if (error == cudaSuccess)
    error =
        cudaFuncSetAttribute(plan.entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);
  Params& k = plan.params;
  k.sq = p.q;
  k.sk = p.k;
  k.sv = p.v;
  k.so = p.out;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim = int(p.dim);
  k.dim_v = int(p.dim_v);
  k.causal_offset = causal_offset_of(p);
  k.scale = float(p.scale);
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
  params.q = static_cast<const float*>(args->q);
  params.k = static_cast<const float*>(args->k);
  params.v = static_cast<const float*>(args->v);
  params.out = static_cast<float*>(args->out);
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config =
      cluster_config(attributes[0], plan->grid, k_threads, plan->entry.smem_bytes,
                     plan->entry.ranks, args->stream);
  allow_early_start(config, attributes, EARLY_START != 0);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching large_hdim", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
