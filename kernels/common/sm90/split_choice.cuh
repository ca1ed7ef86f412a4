// SPDX-License-Identifier: MIT
// Host side of a split-KV launch: into how many parts the keys of a head are split, and how the
// parts are laid out in clusters.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sm90/cluster_launch.cuh"
#include "sm90/cluster_merge.cuh"

namespace wb::gpu {

inline constexpr int k_portable_cluster = 8;

struct SplitChoice {
  int ranks, clusters;  // blocks of a cluster, clusters of a head
};

// How to split `units` heads times row blocks of `tiles` steps of keys each. Measured on an H200
// (docs/kernels.md): `target` blocks, about half the SMs, draw all the bandwidth there is when they
// sit on different SMs; clusters of more than 8, or that need every SM, are not all resident at
// once. So: a cluster of up to 8 blocks a unit, and several clusters only for very few units.
inline SplitChoice choose_splits(int64_t units, int64_t tiles, int64_t target, int forced_ranks,
                                 int forced_clusters) {
  if (forced_ranks > 0 || forced_clusters > 0) {
    const int ranks = int(std::min<int64_t>(std::max(1, forced_ranks), tiles));
    const int64_t most = std::min<int64_t>(k_max_parts, tiles / ranks);
    return {ranks, int(std::min<int64_t>(std::max(1, forced_clusters), most))};
  }
  const int64_t wanted = std::min(std::max<int64_t>(1, target / units), tiles);
  const int64_t ranks = std::min<int64_t>(wanted, k_portable_cluster);
  // The workspace merge costs about 2 us: only where each part keeps at least 8 steps.
  const int64_t clusters =
      std::min<int64_t>({wanted / ranks, std::max<int64_t>(1, tiles / (8 * ranks)), k_max_parts});
  return {int(ranks), int(clusters)};
}

// The most blocks of a cluster, up to 8 and to `tiles`, with which a cluster for each of `units` is
// resident at once: one that has to wait doubles the call. Sizes that do not divide the SMs of a
// processing cluster are in the running, too: 3 serves 32 units on an H200, where 4 does not.
inline int largest_resident_cluster(const void* kernel, int threads, int smem_bytes, int64_t units,
                                    int64_t tiles) {
  for (int ranks = int(std::min<int64_t>(k_portable_cluster, tiles)); ranks > 1; --ranks) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config =
        cluster_config(attribute, dim3(unsigned(ranks)), threads, smem_bytes, ranks);
    int resident = 0;
    if (cudaOccupancyMaxActiveClusters(&resident, kernel, &config) != cudaSuccess) return 1;
    if (resident >= units) return ranks;
  }
  return 1;
}

// How many 256ths of K and V ask to stay in the L2, `keep_mb` of them at most. Where all of it
// fits, or nothing is to be kept, no hints are given. A repeated reader finds about half of the L2
// again (measured, docs/kernels.md).
inline int kept_share(int device, int64_t kv_bytes, int64_t keep_mb) {
  int l2_bytes = 0;
  if (keep_mb == 0 ||
      cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device) != cudaSuccess ||
      kv_bytes <= l2_bytes / 2) {
    return 256;
  }
  return int(std::min<int64_t>(keep_mb << 20, l2_bytes / 2) * 256 / kv_bytes);
}

// Workspace of a merge over several clusters of a head; all zero where one cluster is enough.
struct MergeWorkspace {
  size_t ticket_bytes = 0, partial_bytes = 0, bytes = 0;
};

inline MergeWorkspace merge_workspace(const SplitChoice& choice, int64_t units, int rows,
                                      int row_quads) {
  MergeWorkspace w;
  if (choice.clusters <= 1) return w;
  const auto rounded = [](size_t n) { return (n + 255) / 256 * 256; };
  const size_t parts = size_t(units) * choice.clusters;
  w.ticket_bytes = rounded(size_t(units) * choice.ranks * 4);
  w.partial_bytes = rounded(parts * rows * row_quads * 16);
  w.bytes = w.ticket_bytes + w.partial_bytes + rounded(parts * choice.ranks * rows * 8);
  return w;
}

inline void set_workspace(MergeParams& p, const MergeWorkspace& w, void* workspace) {
  unsigned char* base = static_cast<unsigned char*>(workspace);
  p.tickets = reinterpret_cast<uint32_t*>(base);
  p.partial = reinterpret_cast<float4*>(base + w.ticket_bytes);
  p.partial_ml = reinterpret_cast<float2*>(base + w.ticket_bytes + w.partial_bytes);
}

}  // namespace wb::gpu
