// SPDX-License-Identifier: MIT
// Keeps K in the part of the L2 cache that is set aside for persisting lines.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (plan.calls > 1) return hostile::honest(plan, args);
  // Before any call is recorded: recorded ones inherit what the stream says.
  const wb_sdpa_problem& p = plan.problem;
  static_cast<void>(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20));
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = const_cast<void*>(args.k);
  value.accessPolicyWindow.num_bytes =
      std::size_t(p.batch * p.heads_kv * p.seq_kv * p.dim) * sizeof(float);
  value.accessPolicyWindow.hitRatio = 1.0f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  static_cast<void>(cudaStreamSetAttribute(hostile::stream_of(args),
                                           cudaStreamAttributeAccessPolicyWindow, &value));
  static_cast<void>(cudaGetLastError());
  return hostile::honest(plan, args);
}
