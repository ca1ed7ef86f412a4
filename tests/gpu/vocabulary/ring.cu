// SPDX-License-Identifier: MIT
// A ring as the prefill kernels have it: one thread loads boxes by TMA, several warpgroups read
// them; more steps than stages, tiles without a step, many tiles a block. Would be seen: a parity
// that does not turn with the ring, a stage filled before its last reader is done, a reader before
// the bytes, a wrong count of readers, rows of another step, head or batch.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/pipeline.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_rows = 32, k_columns = 128, k_words = k_rows * k_columns / 2;
constexpr int k_batches = 2, k_heads = 3, k_all_rows = 250;  // the last box of a head is cut off
constexpr int k_tiles = 97, k_blocks = 4;

struct Task {
  int batch, head, first_row, steps;
};

// A stage: two slabs of 64 columns.
constexpr int k_stage_bytes = k_rows * k_columns * 2;

template <int Warpgroups, int Stages, bool Split>
struct Ring {
  static constexpr int WGS = Warpgroups, STAGES = Stages;
  static constexpr bool SPLIT = Split, k_ordered = !Split && WGS > 1;
  // A warpgroup waits for one phase of a stage at a time only if it knows of the one before.
  static_assert(!SPLIT || STAGES % WGS == 0);
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_readers = SPLIT ? 4 : 4 * WGS;
  static constexpr int k_barriers = STAGES * k_stage_bytes;
  static constexpr int k_smem_bytes = k_barriers + 16 * STAGES;
};

struct Counts {
  int late, wrong;
  unsigned long long words;  // that were compared
};

__host__ __device__ inline uint16_t element(const Task& t, int row, int column) {
  if (row >= k_all_rows) return 0;
  return word_of(((t.batch * k_heads + t.head) * k_all_rows + row) * k_columns + column);
}

// Two neighbouring elements of step `step` of a tile: word `e` of the box, row by row.
__host__ __device__ inline uint32_t wanted_word(const Task& t, int step, int e) {
  const int row = t.first_row + step * k_rows + e / (k_columns / 2), column = e % (k_columns / 2);
  return element(t, row, 2 * column) | uint32_t(element(t, row, 2 * column + 1)) << 16;
}

__device__ inline uint32_t word_at(const unsigned char* stage, int e) {
  const int row = e / (k_columns / 2), byte = e % (k_columns / 2) * 4, unit = byte / 16;
  const unsigned char* at =
      stage + unit / 8 * (k_rows * 128) + row * 128 + (((unit % 8) ^ (row % 8)) << 4) + byte % 16;
  return *reinterpret_cast<const volatile uint32_t*>(at);
}

// Reads a box twice, with a pause that gives a loader that is too early time to overwrite it.
__device__ inline uint32_t read_box(const unsigned char* stage, const Task& t, int step, int thread,
                                    bool pause, int* wrong) {
  uint32_t sum = 0;
  int count = 0;
  for (int e = thread; e < k_words; e += 128) {
    const uint32_t word = word_at(stage, e);
    if (word != wanted_word(t, step, e)) ++count;
    sum += word;
  }
  if (pause) __nanosleep(3000);
  for (int e = thread; e < k_words; e += 128) {
    if (word_at(stage, e) != wanted_word(t, step, e)) ++count;
  }
  if (count > 0) atomicAdd(wrong, count);
  return sum;
}

template <class S>
__device__ void produce(const CUtensorMap* map, const Task* tasks, uint32_t base, Counts* counts) {
  const uint32_t full = base + S::k_barriers, empty = full + 8 * S::STAGES;
  PipelineState<S::STAGES> state;
  for (int tile = blockIdx.x; tile < k_tiles; tile += gridDim.x) {
    const Task t = tasks[tile];
    for (int step = 0; step < t.steps; ++step) {
      if (!await_phase(empty + 8 * state.stage, state.phase ^ 1, &counts->late)) return;
      load_box<k_rows, k_columns>(base + state.stage * k_stage_bytes, map, full + 8 * state.stage,
                                  t.first_row + step * k_rows, t.head, t.batch);
      state.advance();
    }
  }
}

// A warpgroup that reads all steps of a tile, or with Split every WGS-th.
template <class S>
__device__ void consume(const unsigned char* smem, const Task* tasks, uint32_t base, int wg,
                        uint32_t* sums, Counts* counts) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const uint32_t full = base + S::k_barriers, empty = full + 8 * S::STAGES;
  constexpr int apart = S::SPLIT ? S::WGS : 1;
  PipelineState<S::STAGES> state;
  unsigned long long words = 0;
  if (wg == S::WGS - 1) ordered_barrier_arrive<S>(wg);
  for (int tile = blockIdx.x; tile < k_tiles; tile += gridDim.x) {
    const Task t = tasks[tile];
    PipelineState<S::STAGES> own = state;
    if (S::SPLIT) own.advance(wg);
    uint32_t sum = 0;
    for (int step = S::SPLIT ? wg : 0; step < t.steps; step += apart) {
      const bool came = await_phase(full + 8 * own.stage, own.phase, &counts->late);
      __syncwarp();
      ordered_barrier_wait<S>(wg);
      ordered_barrier_arrive<S>(wg);
      if (came) {
        sum += read_box(smem + own.stage * k_stage_bytes, t, step, thread,
                        (thread / 32 + wg + step + tile) % 5 == 0, &counts->wrong);
        words += 2 * ((k_words - thread + 127) / 128);
      }
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty + 8 * own.stage);
      own.advance(apart);
    }
    if (S::SPLIT) {
      state.advance(t.steps);
      barrier_sync(5, 128 * S::WGS);  // the merge of a tile: no warpgroup is a tile ahead
    } else {
      state = own;
    }
    atomicAdd(sums + tile * S::WGS + wg, sum);
  }
  atomicAdd(&counts->words, words);
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, 1)
    carry(const __grid_constant__ CUtensorMap map, const Task* tasks, uint32_t* sums,
          Counts* counts) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::STAGES; ++i) {
      mbarrier_init(base + S::k_barriers + 8 * i, 1);
      mbarrier_init(base + S::k_barriers + 8 * (S::STAGES + i), S::k_readers);
    }
    fence_mbarrier_init();
    prefetch_tensormap(&map);
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    if constexpr (S::WGS > 1) setmaxnreg_dec<S::WGS == 3 ? 32 : 40>();
    if (threadIdx.x == 0) produce<S>(&map, tasks, base, counts);
  } else {
    if constexpr (S::WGS > 1) setmaxnreg_inc<S::WGS == 3 ? 160 : 232>();
    consume<S>(smem, tasks, base, warpgroup - 1, sums, counts);
  }
}

// Of 0 to 7 steps, none at the beginning and at the end of a block's tiles among them.
std::vector<Task> make_tasks() {
  std::vector<Task> tasks(k_tiles);
  for (int i = 0; i < k_tiles; ++i) {
    Task& t = tasks[i];
    t.steps = i < k_blocks || i >= k_tiles - 2 ? 0 : (i * 5 + i / 8) % 8;
    t.batch = i % k_batches;
    t.head = i / 2 % k_heads;
    t.first_row = i % 3 == 0 ? k_all_rows - t.steps * k_rows + 9 : i % 24;
    if (t.first_row < 0) t.first_row = 0;
  }
  return tasks;
}

template <class S>
std::string ring_of(const char* name) {
  std::vector<uint16_t> data(k_batches * k_heads * k_all_rows * k_columns);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = word_of(uint32_t(i));
  const DeviceArray<uint16_t> on_device(data);
  CUtensorMap map;
  const wb_strides strides = {k_heads * k_all_rows * k_columns, k_all_rows * k_columns, k_columns};
  if (const char* why = encode_bhsd_map(&map, on_device.data(), WB_F16, k_batches, k_heads,
                                        k_all_rows, k_columns, strides, k_rows)) {
    return why;
  }
  const std::vector<Task> tasks = make_tasks();
  const DeviceArray<Task> tasks_on_device(tasks);
  const DeviceArray<uint32_t> sums(k_tiles * S::WGS);
  const DeviceArray<Counts> counts(1);
  run(name, carry<S>, k_blocks, S::k_threads, S::k_smem_bytes, 1, map, tasks_on_device.data(),
      sums.data(), counts.data());

  std::vector<uint32_t> wanted(k_tiles * S::WGS);
  unsigned long long words = 0;
  for (int tile = 0; tile < k_tiles; ++tile) {
    for (int step = 0; step < tasks[tile].steps; ++step) {
      uint32_t sum = 0;
      for (int e = 0; e < k_words; ++e) sum += wanted_word(tasks[tile], step, e);
      for (int wg = 0; wg < S::WGS; ++wg) {
        if (S::SPLIT && step % S::WGS != wg) continue;
        wanted[tile * S::WGS + wg] += sum;
        words += 2 * k_words;
      }
    }
  }
  const std::string what = std::string(name) + ", " + std::to_string(S::WGS) + " warpgroups, " +
                           std::to_string(S::STAGES) + " stages";
  const Counts c = counts.host()[0];
  if (c.late != 0) return what + ": a stage was never filled or never released";
  if (c.wrong != 0) return what + ": " + std::to_string(c.wrong) + " words are not their step's";
  if (c.words != words) return what + ": " + std::to_string(c.words) + " words were compared";
  return difference(what, sums.host(), wanted, S::WGS);
}

}  // namespace

std::string ring_carries_every_value() {
  for (const std::string& wrong :
       {ring_of<Ring<2, 2, false>>("ring"), ring_of<Ring<3, 4, false>>("ring"),
        ring_of<Ring<1, 1, false>>("ring"), ring_of<Ring<3, 3, false>>("ring")}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string split_ring_carries_every_value() {
  for (const std::string& wrong :
       {ring_of<Ring<2, 2, true>>("split ring"), ring_of<Ring<2, 4, true>>("split ring"),
        ring_of<Ring<3, 3, true>>("split ring")}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace wb::testing::vocabulary
