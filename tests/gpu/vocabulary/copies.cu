// SPDX-License-Identifier: MIT
// cp_async.cuh. Would be seen: a copy of another length, zeros that are not written or a source
// that is read for them, a wait that counts groups wrongly (also empty ones), a share of pieces
// that is not the asked one.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm80/cp_async.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_threads = 128, k_stages = 3, k_steps = 25, k_kinds = 5;

// Of 16 bytes, for each thread. None: the step's group is empty.
__host__ __device__ inline int pieces_of(int step) {
  return step % 4 == 3 ? 0 : 1 + step % 2;
}

__host__ __device__ inline bool is_there(int kind, int thread, int step) {
  return kind == 1 || kind == 2 || (thread + step) % 3 != 0;
}

__device__ inline void copy(int kind, uint32_t to, const void* from, bool valid, uint64_t policy) {
  const char* bytes = static_cast<const char*>(from);
  switch (kind) {
    case 0:
      cp_async_cg_zfill(to, from, valid);
      break;
    case 1:
      cp_async_cg(to, from);
      break;
    case 2:
      cp_async_cg_hint(to, from, policy);
      break;
    case 3:
      cp_async_cg_zfill_hint(to, from, valid, policy);
      break;
    default:
      for (int i = 0; i < 16; i += 4) cp_async_ca4_zfill(to + i, bytes + i, valid);
  }
}

// Source and destination of a piece: [step][piece][thread] in 16 bytes.
__host__ __device__ inline int place_of(int step, int piece, int thread) {
  return (step * 2 + piece) * k_threads + thread;
}

// k_stages - 1 groups ahead, as the kernels: a group for every step, empty or not.
__global__ void __launch_bounds__(k_threads) copy_in_groups(const uint4* from, uint4* out) {
  __shared__ alignas(16) uint4 stages[k_stages][2][k_threads];
  const int thread = threadIdx.x;
  const uint64_t policy = createpolicy_evict_first();
  const auto load = [&](int step) {
    if (step < k_steps) {
      for (int piece = 0; piece < pieces_of(step); ++piece) {
        const int kind = (step + piece) % k_kinds;
        copy(kind, smem_address(&stages[step % k_stages][piece][thread]),
             from + place_of(step, piece, thread), is_there(kind, thread, step), policy);
      }
    }
    cp_async_commit_group();
  };
  for (int i = 0; i < k_stages * 2; ++i) {
    stages[i / 2][i % 2][thread] = make_uint4(~0u, ~0u, ~0u, ~0u);
  }
  __syncthreads();
  for (int step = 0; step < k_stages - 1; ++step) load(step);
  for (int step = 0; step < k_steps; ++step) {
    cp_async_wait_group<k_stages - 2>();
    __syncthreads();  // everybody's pieces are there, and the stage to be filled is read
    for (int piece = 0; piece < pieces_of(step); ++piece) {
      const int other = (thread + 5 * step) % k_threads;
      out[place_of(step, piece, other)] = stages[step % k_stages][piece][other];
    }
    load(step + k_stages - 1);
  }
  cp_async_wait_group<0>();
}

// For every share of 256, how many of the first steps stay, after every step.
__global__ void count_kept(int* counts, int steps) {
  const int kept = threadIdx.x + blockIdx.x * blockDim.x;
  if (kept > 256) return;
  int count = 0;
  for (int step = 0; step < steps; ++step) {
    count += stays_in_l2(step, kept) ? 1 : 0;
    counts[kept * steps + step] = count;
  }
}

}  // namespace

std::string asynchronous_copies_arrive() {
  const int places = k_steps * 2 * k_threads;
  std::vector<uint4> data(places);
  for (int i = 0; i < places; ++i) {
    const uint32_t x = 4u * uint32_t(i) + 17u;
    data[i] = {x, x + 1, x + 2, x + 3};
  }
  const DeviceArray<uint4> from(data), out(std::size_t(places), 0xff);
  run("asynchronous_copies_arrive", copy_in_groups, 2, k_threads, 0, 1, from.data(), out.data());
  std::vector<uint32_t> got, wanted;
  const std::vector<uint4> is = out.host();
  for (int step = 0; step < k_steps; ++step) {
    for (int piece = 0; piece < 2; ++piece) {
      for (int thread = 0; thread < k_threads; ++thread) {
        const int place = place_of(step, piece, thread);
        const uint4 x = is[place], y = data[place];
        got.insert(got.end(), {x.x, x.y, x.z, x.w});
        if (piece >= pieces_of(step)) {
          wanted.insert(wanted.end(), {~0u, ~0u, ~0u, ~0u});
        } else if (is_there((step + piece) % k_kinds, thread, step)) {
          wanted.insert(wanted.end(), {y.x, y.y, y.z, y.w});
        } else {
          wanted.insert(wanted.end(), {0, 0, 0, 0});
        }
      }
    }
  }
  return difference("step and piece", got, wanted, 4 * k_threads);
}

std::string kept_pieces_lie_evenly() {
  const int steps = 600;
  const DeviceArray<int> counts(257 * steps);
  run("kept_pieces_lie_evenly", count_kept, 3, 128, 0, 1, counts.data(), steps);
  std::vector<int> wanted(257 * steps);
  for (int kept = 0; kept <= 256; ++kept) {
    for (int step = 0; step < steps; ++step) {
      wanted[kept * steps + step] = kept == 0 ? 0 : step * kept / 256 + 1;
    }
  }
  return difference("kept of 256", counts.host(), wanted, steps);
}

}  // namespace wb::testing::vocabulary
