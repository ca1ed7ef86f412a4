// SPDX-License-Identifier: MIT
// cluster.cuh, and the reads of cluster_pull.cuh, in clusters of 1 to 16 blocks. Would be seen: a
// store into another block than mapa was asked for, bytes that the receiver's barrier does not
// count or counts twice, a phase that ends before them, a cluster barrier that lets go early, the
// wrong half of a quad.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/accumulator_merge.cuh"
#include "sm90/cluster.cuh"
#include "sm90/cluster_pull.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_threads = 64, k_rounds = 12, k_clusters = 3, k_most = 16;

struct Counts {
  int late, wrong, seen;
};

// A number that stands for a value's whole way; exact in f32.
__device__ inline float way(int cluster, int from, int to, int round, int thread) {
  return float((((cluster * k_most + from) * k_most + to) * k_rounds + round) * k_threads + thread);
}

__device__ inline float4 quad_of(float x) {
  return make_float4(x, -x, x + 0.5f, 2.0f * x);
}

__device__ inline bool is_quad_of(float4 v, float x) {
  const float4 w = quad_of(x);
  return v.x == w.x && v.y == w.y && v.z == w.z && v.w == w.w;
}

// One block sends to itself: the barrier waits for all 40 bytes, in whatever pieces.
// `zero` is what it says: stores that depend on an answer by it cannot be moved in front of the
// question, which ptxas does otherwise.
__global__ void count_bytes(int* answers, Counts* counts, uint32_t zero) {
  __shared__ alignas(16) float4 quad[2];
  __shared__ alignas(8) float2 pair;
  __shared__ alignas(8) uint64_t space;
  const uint32_t barrier = smem_address(&space), there = mapa(barrier, 0);
  mbarrier_init(barrier, 1);
  fence_mbarrier_init();
  for (int i = 0; i < 2; ++i) {
    const uint32_t parity = i & 1;
    mbarrier_arrive_expect_tx(barrier, 40);
    st_async_v4(mapa(smem_address(&quad[0]), 0), quad_of(1.0f + i), there);
    const uint32_t after_one = mbarrier_try_wait_parity(barrier, parity) ? 1 : 0;
    st_async_v2(mapa(smem_address(&pair) + (after_one & zero), 0), make_float2(7.0f + i, 9.0f + i),
                there);
    const uint32_t after_two = mbarrier_try_wait_parity(barrier, parity) ? 1 : 0;
    st_async_v4(mapa(smem_address(&quad[1]) + (after_two & zero), 0), quad_of(5.0f + i), there);
    answers[4 * i] = int(after_one);
    answers[4 * i + 1] = int(after_two);
    answers[4 * i + 2] = await_phase(barrier, parity, &counts->late) ? 1 : 0;
    const float2 two = ld_shared_v2(smem_address(&pair));
    answers[4 * i + 3] = is_quad_of(ld_shared_v4(smem_address(&quad[0])), 1.0f + i) &&
                                 is_quad_of(ld_shared_v4(smem_address(&quad[1])), 5.0f + i) &&
                                 two.x == 7.0f + i && two.y == 9.0f + i
                             ? 1
                             : 0;
  }
}

__device__ inline bool sends(int rank, int round) {
  return (rank + round) % 3 != 0;  // the others have nothing to say in this round
}

// In every round each block tells every block of its cluster a quad and a pair for each thread.
__global__ void __launch_bounds__(k_threads) exchange(Counts* counts) {
  extern __shared__ __align__(128) unsigned char smem[];
  float4* quads = reinterpret_cast<float4*>(smem);                            // [2][rank][thread]
  float2* pairs = reinterpret_cast<float2*>(quads + 2 * k_most * k_threads);  // the same
  const uint32_t barriers = smem_address(pairs + 2 * k_most * k_threads);
  const int ranks = int(cluster_nctarank()), rank = int(cluster_ctarank()), thread = threadIdx.x;
  const int cluster = blockIdx.x / ranks;
  if (rank != int(blockIdx.x) % ranks) atomicAdd(&counts->wrong, 1000000);
  if (thread == 0) {
    mbarrier_init(barriers, 1);
    mbarrier_init(barriers + 8, 1);
    fence_mbarrier_init();
  }
  __syncwarp();
  barrier_cluster_arrive_relaxed();
  barrier_cluster_wait();
  int seen = 0;
  for (int round = 0; round < k_rounds; ++round) {
    const int buffer = round & 1, place = (buffer * k_most + rank) * k_threads + thread;
    const uint32_t barrier = barriers + 8 * buffer;
    if (thread == 0) {
      int senders = 0;
      for (int r = 0; r < ranks; ++r) senders += sends(r, round) ? 1 : 0;
      mbarrier_arrive_expect_tx(barrier, senders * k_threads * 24);
    }
    if ((rank + round) % 5 == 0) __nanosleep(3000);
    if (sends(rank, round)) {
      for (int i = 0; i < ranks; ++i) {
        const int to = (rank + i) % ranks;
        const float x = way(cluster, rank, to, round, thread);
        st_async_v4(mapa(smem_address(quads + place), to), quad_of(x), mapa(barrier, to));
        st_async_v2(mapa(smem_address(pairs + place), to), make_float2(x, -x), mapa(barrier, to));
      }
    }
    await_phase(barrier, round / 2 & 1, &counts->late);
    for (int from = 0; from < ranks; ++from) {
      if (!sends(from, round)) continue;
      const int other = (thread + 11 * round) % k_threads;
      const int at = (buffer * k_most + from) * k_threads + other;
      const float x = way(cluster, from, rank, round, other);
      const float4 v = ld_shared_v4(smem_address(quads + at));
      const float2 w = ld_shared_v2(smem_address(pairs + at));
      if (!is_quad_of(v, x) || w.x != x || w.y != -x) atomicAdd(&counts->wrong, 1);
      ++seen;
    }
    __syncwarp();
    barrier_cluster_arrive();  // all have read: the round after the next may overwrite
    barrier_cluster_wait();
  }
  atomicAdd(&counts->seen, seen);
}

// In every round each block writes its own memory and, behind a cluster barrier, reads the others'.
__global__ void __launch_bounds__(k_threads) read_each_other(Counts* counts) {
  __shared__ alignas(16) float4 quads[k_threads];
  __shared__ alignas(8) float2 pairs[k_threads];
  const int ranks = int(cluster_nctarank()), rank = int(cluster_ctarank()), thread = threadIdx.x;
  const int cluster = blockIdx.x / ranks;
  int seen = 0;
  for (int round = 0; round < k_rounds; ++round) {
    if ((rank + round) % 5 == 0) __nanosleep(3000);
    const float own = way(cluster, rank, 0, round, thread);
    st_shared_v4(smem_address(quads + thread), quad_of(own));
    pairs[thread] = make_float2(own, -own);
    __syncwarp();
    barrier_cluster_arrive();
    barrier_cluster_wait();
    for (int from = 0; from < ranks; ++from) {
      const int other = (thread + 7 * round + from) % k_threads;
      const float x = way(cluster, from, 0, round, other);
      const float4 v = ld_shared_cluster_v4(mapa(smem_address(quads + other), from));
      const float2 w = ld_shared_cluster_v2(mapa(smem_address(pairs + other), from));
      if (!is_quad_of(v, x) || w.x != x || w.y != -x) atomicAdd(&counts->wrong, 1);
      ++seen;
    }
    __syncwarp();
    barrier_cluster_arrive_relaxed();  // nothing to make known: what was read is used
    barrier_cluster_wait();
  }
  atomicAdd(&counts->seen, seen);
}

std::string judge(const std::string& what, const Counts& c, int seen) {
  if (c.late != 0) return what + ": bytes are missing";
  if (c.wrong != 0) return what + ": " + std::to_string(c.wrong) + " values are wrong";
  if (c.seen != seen) return what + ": " + std::to_string(c.seen) + " values were compared";
  return {};
}

// Clusters of more than 8 blocks need that many SMs side by side.
template <class Kernel>
bool fits(Kernel kernel, int ranks, int smem_bytes) {
  if (ranks <= 8) return true;
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters");
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes),
       "clusters");
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(ranks), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ranks);
  config.blockDim = dim3(k_threads);
  config.dynamicSmemBytes = size_t(smem_bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int count = 0;
  must(cudaOccupancyMaxActiveClusters(&count, kernel, &config), "clusters");
  return count > 0;
}

}  // namespace

std::string asynchronous_stores_count_their_bytes() {
  const DeviceArray<int> answers(8, 0xff);
  const DeviceArray<Counts> counts(1);
  run("asynchronous_stores_count_their_bytes", count_bytes, 1, 1, 0, 1, answers.data(),
      counts.data(), 0u);
  return difference("answer", answers.host(), {0, 0, 1, 1, 0, 0, 1, 1}, 8);
}

std::string cluster_blocks_exchange_by_stores() {
  const int smem_bytes = 2 * k_most * k_threads * 24 + 16;
  for (const int ranks : {1, 2, 4, 8, 16}) {
    if (!fits(exchange, ranks, smem_bytes)) continue;
    const DeviceArray<Counts> counts(1);
    run("cluster_blocks_exchange_by_stores", exchange, k_clusters * ranks, k_threads, smem_bytes,
        ranks, counts.data());
    int seen = 0;
    for (int round = 0; round < k_rounds; ++round) {
      for (int rank = 0; rank < ranks; ++rank) seen += (rank + round) % 3 != 0 ? 1 : 0;
    }
    const std::string wrong = judge("clusters of " + std::to_string(ranks), counts.host()[0],
                                    seen * k_clusters * ranks * k_threads);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string cluster_blocks_read_each_other() {
  for (const int ranks : {1, 2, 4, 8, 16}) {
    if (!fits(read_each_other, ranks, 0)) continue;
    const DeviceArray<Counts> counts(1);
    run("cluster_blocks_read_each_other", read_each_other, k_clusters * ranks, k_threads, 0, ranks,
        counts.data());
    const std::string wrong = judge("clusters of " + std::to_string(ranks), counts.host()[0],
                                    k_clusters * ranks * ranks * k_threads * k_rounds);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace wb::testing::vocabulary
