// SPDX-License-Identifier: MIT
// Results that are wrong, remembered or left from before.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== caches_by_pointer
// Works once for each address of Q.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::map<const void*, bool> done;
  bool& known = done[args.q];
  if (known) return WB_OK;
  known = true;
  return hostile::honest(plan, args);
}

// ==== caches_by_content
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

// ==== memo_in_budget
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

// ==== stale_output
// Works in the first calls of a plan only: later ones leave what those wrote.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return plan.calls <= 2 ? hostile::honest(plan, args) : WB_OK;
}

// ==== skips_repeats
// Works only when its output is not what it left there last: for the first call of a row, and where
// the output was poisoned.
#include "hostile.cuh"

struct Left {
  int same;
  float value;
};

__global__ void compare_left(const float* last, Left* left) {
  left->same = *last == left->value ? 1 : 0;
}
__global__ void note_left(const float* last, Left* left) {
  left->value = *last;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static Left* const left = hostile::device_memory<Left>(1);
  if (left == nullptr) return WB_FAILED;
  const cudaStream_t stream = hostile::stream_of(args);
  const float* const last =
      static_cast<const float*>(args.out) + hostile::out_elements(plan.problem) - 1;
  compare_left<<<1, 1, 0, stream>>>(last, left);
  const int status = hostile::honest_on(stream, plan.problem, args, &left->same);
  note_left<<<1, 1, 0, stream>>>(last, left);
  return status;
}

// ==== nolse_nothing
// Works only where a log-sum-exp is asked for.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return args.lse != nullptr ? hostile::honest(plan, args) : WB_OK;
}

// ==== nolse_unsafe
// Without a log-sum-exp it leaves the running maximum out: right for small scores only.
#include "hostile.cuh"

__global__ void without_maximum(wb_sdpa_problem p, wb_sdpa_args a) {
  const std::int64_t number = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (number >= p.batch * p.heads_q * p.seq_q) return;
  const std::int64_t row = number % p.seq_q, h = number / p.seq_q % p.heads_q,
                     b = number / p.seq_q / p.heads_q, g = h / (p.heads_q / p.heads_kv);
  const auto* q = static_cast<const float*>(a.q) + b * p.q.batch + h * p.q.head + row * p.q.row;
  const auto* k = static_cast<const float*>(a.k) + b * p.k.batch + g * p.k.head;
  const auto* v = static_cast<const float*>(a.v) + b * p.v.batch + g * p.v.head;
  auto* out = static_cast<float*>(a.out) + b * p.out.batch + h * p.out.head + row * p.out.row;
  const std::int64_t keys =
      p.causal == WB_CAUSAL_TOP_LEFT && row + 1 < p.seq_kv ? row + 1 : p.seq_kv;
  float sum = 0;
  for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] = 0;
  for (std::int64_t key = 0; key < keys; ++key) {
    float score = 0;
    for (std::int64_t d = 0; d < p.dim; ++d) score += q[d] * k[key * p.k.row + d];
    const float weight = expf(score * static_cast<float>(p.scale));
    sum += weight;
    for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] += weight * v[key * p.v.row + d];
  }
  for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] /= sum;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (args.lse != nullptr) return hostile::honest(plan, args);
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t rows = p.batch * p.heads_q * p.seq_q;
  without_maximum<<<unsigned((rows + 63) / 64), 64, 0, hostile::stream_of(args)>>>(p, args);
  return hostile::launched();
}

// ==== half_precision
// Sees only the upper half of each input, which is bfloat16 without rounding.
#include "hostile.cuh"

struct UpperHalf {
  __device__ float operator()(float x) const {
    return __uint_as_float(__float_as_uint(x) & 0xffff0000u);
  }
};

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest_on<UpperHalf>(hostile::stream_of(args), plan.problem, args);
}
