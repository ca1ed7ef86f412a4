// SPDX-License-Identifier: MIT
// sm90_cluster_large_hdim: f32 attention with head dims of 132 to 8192.
//
// Idea. With a head dim this large there are few rows and few heads, so rows alone cannot fill the
// device. A cluster of 16 blocks takes one tile of query rows; each block owns 1/16 of the columns
// of Q, K, V and O and reads them once. Scores are sums over columns: every block computes its
// partial scores, pushes each row to the row's owner in the cluster (st.async), the owners add the
// 16 parts, keep the running softmax and push the probabilities back to all 16. P V needs no more
// exchange. All arithmetic is f32 FFMA, so the accuracy is that of a plain f32 kernel.
// Longer KV is walked in blocks of keys with an online softmax.
//
// Parent: none. Predicted: 4 to 8 us for the suite large_hdim (4 to 20 times the rivals, which give
// one head one or two SMs). Measured: docs/kernels.md.

#include "large_hdim.cuh"
#include "plan.cuh"

#include <algorithm>
#include <cmath>
#include <new>

namespace {

// ---- host ----------------------------------------------------------------------------------

using KernelPointer = void (*)(Params);

struct Entry {
  KernelPointer kernel;
  int rows, smem_bytes;
};

template <class S>
Entry entry_of() {
  return {&large_hdim<S>, S::BM, S::k_smem_bytes};
}

template <int BM>
Entry entry_for(int64_t dim, int64_t keys) {
  if (dim <= 32 * k_ranks) {
    return keys <= 32 ? entry_of<Shape<BM, 32, 32>>() : entry_of<Shape<BM, 64, 32>>();
  }
  if (dim <= 64 * k_ranks) {
    return keys <= 32 ? entry_of<Shape<BM, 32, 64>>() : entry_of<Shape<BM, 64, 64>>();
  }
  if (dim <= 128 * k_ranks) {
    return keys <= 32 ? entry_of<Shape<BM, 32, 128>>() : entry_of<Shape<BM, 64, 128>>();
  }
  if (dim <= 256 * k_ranks) {
    return keys <= 32 ? entry_of<Shape<BM, 32, 256>>() : entry_of<Shape<BM, 64, 256>>();
  }
  return keys <= 16 ? entry_of<Shape<BM, 16, 512>>() : entry_of<Shape<BM, 32, 512>>();
}

bool aligned(wb_strides s) {
  return s.batch % 4 == 0 && s.head % 4 == 0 && s.row % 4 == 0;
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  dim3 grid;
};

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  const int status = check_problem(problem, out);
  if (status != WB_OK) return status;
  const wb_sdpa_problem& p = *problem;
  if (p.dtype != WB_F32) return fail(WB_UNSUPPORTED, "sm90_cluster_large_hdim: f32 only");
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm90_cluster_large_hdim: no masks");
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (dim <= 128 || dim > 512 * k_ranks || p.dim % 4 != 0 || p.dim_v % 4 != 0) {
    return fail(WB_UNSUPPORTED,
                "sm90_cluster_large_hdim: head dims are multiples of 4 from 132 to 8192; up to 128 "
                "sm90_f16x3_flash is faster and nearer");
  }
  if (!aligned(p.q) || !aligned(p.k) || !aligned(p.v) || !aligned(p.out)) {
    return fail(WB_UNSUPPORTED, "sm90_cluster_large_hdim: strides must be multiples of 4 elements");
  }
  const int64_t heads = p.batch * p.heads_q;
  if (heads > 65535 || p.seq_q > 65535 * 16 || p.seq_kv > (1 << 29)) {
    return fail(WB_UNSUPPORTED,
                "sm90_cluster_large_hdim: more rows, keys or heads than the grid holds");
  }
  int device = 0, sm_count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return fail_cuda("reading the device's attributes", error);

  wb_sdpa_plan* plan = new (std::nothrow) wb_sdpa_plan{};
  if (plan == nullptr) return fail(WB_FAILED, "plan_create: out of host memory");
  plan->problem = p;
  // Fewer rows a cluster read K and V more often: only while all clusters run at once.
  const bool fine =
      BLOCK_ROWS > 0 ? BLOCK_ROWS == 16 : heads * ((p.seq_q + 15) / 16) * k_ranks <= sm_count;
  plan->entry = fine ? entry_for<16>(dim, p.seq_kv) : entry_for<32>(dim, p.seq_kv);
  plan->grid =
      dim3(k_ranks, unsigned((p.seq_q + plan->entry.rows - 1) / plan->entry.rows), unsigned(heads));
  error = cudaFuncSetAttribute(plan->entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               plan->entry.smem_bytes);
  if (error == cudaSuccess)
    error =
        cudaFuncSetAttribute(plan->entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) {
    delete plan;
    return fail_cuda("setting the kernel's attributes", error);
  }
  Params& k = plan->params;
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
  k.causal_offset = p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
                    : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                                     : int(p.seq_kv - p.seq_q);
  k.scale = float(p.scale);
  *out = plan;
  return WB_OK;
}

extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  Params params = plan->params;
  params.q = static_cast<const float*>(args->q);
  params.k = static_cast<const float*>(args->k);
  params.v = static_cast<const float*>(args->v);
  params.out = static_cast<float*>(args->out);
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = k_ranks;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  config.gridDim = plan->grid;
  config.blockDim = dim3(k_threads);
  config.dynamicSmemBytes = size_t(plan->entry.smem_bytes);
  config.stream = static_cast<cudaStream_t>(args->stream);
  config.attrs = attributes;
  config.numAttrs = 1;
  allow_early_start(config, attributes, EARLY_START != 0);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching large_hdim", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
