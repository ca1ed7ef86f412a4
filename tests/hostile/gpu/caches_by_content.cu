// SPDX-License-Identifier: MIT
// Compares Q with that of the last call on the device and, where it is the same, copies the old
// result.
#include "hostile.cuh"

struct Memory {
  int same;  // 1: the last call had this Q
  std::uint64_t hash;
};

__global__ void compare_hash(const unsigned* words, std::int64_t count, Memory* memory) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned long long own = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) own += words[i] * (2ull * i + 1);
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x != 0) return;
  memory->same = memory->hash == sum ? 1 : 0;
  memory->hash = sum;
}

__global__ void remember(float* out, float* old, std::int64_t count, const Memory* memory) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float* const to = memory->same ? out : old;
  to[i] = (memory->same ? old : out)[i];
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t count = hostile::out_elements(p);
  static Memory* const memory = hostile::device_memory<Memory>(1);
  static float* const old = hostile::device_memory<float>(1 << 20);
  if (memory == nullptr || old == nullptr || count > (1 << 20)) return WB_FAILED;
  const cudaStream_t stream = hostile::stream_of(args);
  compare_hash<<<1, 1024, 0, stream>>>(static_cast<const unsigned*>(args.q),
                                       p.batch * p.heads_q * p.seq_q * p.dim, memory);
  const int status = hostile::honest_on(stream, p, args, &memory->same);
  remember<<<unsigned((count + 255) / 256), 256, 0, stream>>>(static_cast<float*>(args.out), old,
                                                              count, memory);
  return status;
}
