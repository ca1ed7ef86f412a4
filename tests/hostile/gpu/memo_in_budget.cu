// SPDX-License-Identifier: MIT
// Compares Q with that of the last call on the device; where it is the same, it copies the old
// result and waits until seven tenths of a full call are over: a call on fresh inputs may take half
// more.
#include "hostile.cuh"

struct Budget {
  int same;  // 1: the last call had this Q
  std::uint64_t hash;
  std::uint64_t begin_ns, full_ns;
};

static __device__ std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void compare_and_start(const unsigned* words, std::int64_t count, Budget* budget) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0, budget->begin_ns = now_ns();
  __syncthreads();
  unsigned long long own = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) own += words[i] * (2ull * i + 1);
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x != 0) return;
  budget->same = budget->hash == sum ? 1 : 0;
  budget->hash = sum;
}

__global__ void copy_old(float* out, float* old, std::int64_t count, const Budget* budget) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float* const to = budget->same ? out : old;
  to[i] = (budget->same ? old : out)[i];
}

__global__ void wait_for_budget(Budget* budget) {
  if (!budget->same) {
    budget->full_ns = now_ns() - budget->begin_ns;
    return;
  }
  while (now_ns() - budget->begin_ns < budget->full_ns / 10 * 7) {
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t count = hostile::out_elements(p);
  static Budget* const budget = hostile::device_memory<Budget>(1);
  static float* const old = hostile::device_memory<float>(1 << 20);
  if (budget == nullptr || old == nullptr || count > (1 << 20)) return WB_FAILED;
  const cudaStream_t stream = hostile::stream_of(args);
  compare_and_start<<<1, 1024, 0, stream>>>(static_cast<const unsigned*>(args.q),
                                            p.batch * p.heads_q * p.seq_q * p.dim, budget);
  const int status = hostile::honest_on(stream, p, args, &budget->same);
  copy_old<<<unsigned((count + 255) / 256), 256, 0, stream>>>(static_cast<float*>(args.out), old,
                                                              count, budget);
  wait_for_budget<<<1, 1, 0, stream>>>(budget);
  return status;
}
