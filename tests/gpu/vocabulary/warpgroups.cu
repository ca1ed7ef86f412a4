// SPDX-License-Identifier: MIT
// warpgroup.cuh, and the ordered barrier that pipeline.cuh makes of it. Would be seen: a barrier
// that lets go early or counts the wrong number of threads (by the time limit), arrivals that wait,
// a turn given to the wrong warpgroup, registers that are not there.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/pipeline.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_rounds = 300;

// The first warpgroup writes and only arrives; the second waits, reads, and arrives in turn at the
// barrier behind which the first writes again.
__global__ void __launch_bounds__(256) hand_over(int* wrong) {
  __shared__ int value[128];
  const int thread = threadIdx.x % 128;
  constexpr uint32_t full = 3, empty = 7;
  for (int round = 0; round < k_rounds; ++round) {
    if (threadIdx.x < 128) {
      if (round > 0) barrier_sync(empty, 256);
      if ((thread / 32 + round) % 7 == 0) __nanosleep(1000);
      value[thread] = round * 1000 + thread;
      barrier_arrive(full, 256);
    } else {
      barrier_sync(full, 256);
      const int other = (thread + 37) % 128;
      if (*static_cast<volatile int*>(&value[other]) != round * 1000 + other) atomicAdd(wrong, 1);
      if ((thread / 32 + round) % 5 == 0) __nanosleep(1000);
      if (round + 1 < k_rounds) barrier_arrive(empty, 256);
    }
  }
}

template <int Warpgroups>
struct Ordered {
  static constexpr bool k_ordered = true;
  static constexpr int WGS = Warpgroups;
};

// Each warpgroup writes itself down in its turn, without any other protection.
template <int Warpgroups>
__global__ void __launch_bounds__(128 * Warpgroups) enter_in_order(int* order) {
  using S = Ordered<Warpgroups>;
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const int wg = threadIdx.x / 128;
  if (wg == Warpgroups - 1) ordered_barrier_arrive<S>(wg);  // the first turn is warpgroup 0's
  for (int round = 0; round < k_rounds; ++round) {
    if ((wg + round) % 3 == 0) __nanosleep(500);
    __syncwarp();
    ordered_barrier_wait<S>(wg);
    if (threadIdx.x % 128 == 0) {
      volatile int* at = &count;
      const int mine = *at;
      __nanosleep(50);
      order[mine] = wg;
      *at = mine + 1;
    }
    __syncwarp();
    ordered_barrier_arrive<S>(wg);
  }
}

constexpr int k_held = 190, k_turns_held = 64;  // values a thread keeps in registers; steps

__host__ __device__ inline uint32_t next_held(uint32_t x, uint32_t neighbour, uint32_t step) {
  return x * 1664525u + (neighbour ^ step);
}

// Three warpgroups of 168 registers: one gives its own away, the others then hold 190 values each.
__global__ void __launch_bounds__(384, 1) hold_many(uint32_t* out, int steps, uint32_t seed) {
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<40>();
    return;
  }
  setmaxnreg_inc<232>();
  const uint32_t thread = threadIdx.x - 128;
  uint32_t held[k_held];
#pragma unroll
  for (int i = 0; i < k_held; ++i) held[i] = seed + thread * 1000u + i;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < k_held; ++i) {
      held[i] = next_held(held[i], held[(i + 1) % k_held], uint32_t(step));
    }
  }
#pragma unroll
  for (int i = 0; i < k_held; ++i) out[thread * k_held + i] = held[i];
}

template <int Warpgroups>
std::string order_of() {
  DeviceArray<int> order(Warpgroups * k_rounds, 0xff);
  run("ordered_barrier_keeps_its_order", enter_in_order<Warpgroups>, 1, 128 * Warpgroups, 0, 1,
      order.data());
  std::vector<int> wanted(Warpgroups * k_rounds);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = int(i) % Warpgroups;
  return difference(std::to_string(Warpgroups) + " warpgroups", order.host(), wanted, Warpgroups);
}

}  // namespace

std::string named_barriers_hand_data_over() {
  DeviceArray<int> wrong(1);
  run("named_barriers_hand_data_over", hand_over, 4, 256, 0, 1, wrong.data());
  return difference("stale values", wrong.host(), {0}, 1);
}

std::string ordered_barrier_keeps_its_order() {
  const std::string two = order_of<2>();
  return two.empty() ? order_of<3>() : two;
}

std::string registers_move_between_warpgroups() {
  const uint32_t seed = 12345;
  DeviceArray<uint32_t> out(256 * k_held);
  run("registers_move_between_warpgroups", hold_many, 1, 384, 0, 1, out.data(), k_turns_held, seed);
  std::vector<uint32_t> wanted(256 * k_held);
  for (uint32_t thread = 0; thread < 256; ++thread) {
    uint32_t* held = wanted.data() + thread * k_held;
    for (int i = 0; i < k_held; ++i) held[i] = seed + thread * 1000u + i;
    for (int step = 0; step < k_turns_held; ++step) {
      for (int i = 0; i < k_held; ++i) {
        held[i] = next_held(held[i], held[(i + 1) % k_held], uint32_t(step));
      }
    }
  }
  return difference("held values of a thread", out.host(), wanted, k_held);
}

}  // namespace wb::testing::vocabulary
