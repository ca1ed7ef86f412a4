// SPDX-License-Identifier: MIT
// Host side: the launch of a grid whose blocks form clusters. Included by split_choice.cuh and
// sm90_cluster_large_hdim.
#pragma once

#include "cuda/plan.cuh"

namespace wb::gpu {

// attribute: the first of the launch's; it has to live until then.
inline cudaLaunchConfig_t cluster_config(cudaLaunchAttribute& attribute, dim3 grid, int threads,
                                         int smem_bytes, int ranks, void* stream = nullptr) {
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = unsigned(ranks);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = launch_config(grid, threads, smem_bytes, stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return config;
}

}  // namespace wb::gpu
