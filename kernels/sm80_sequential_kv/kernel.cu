// SPDX-License-Identifier: MIT
// sm80_sequential_kv: the loop of FlashAttention 1, K and V tile after tile.
//
// Worklog
//   idea      a block keeps TILE_ROWS query rows; 256 threads bring a tile of K and then the tile
//             of V that belongs to it into the same shared memory, and THREADS_PER_ROW threads a
//             row compute with them. The running softmax is rescaled once a tile
//   parent    sm80_query_per_block
//   changed   a tile of K or V is read once for all rows of the block, not once a row; causal
//             blocks stop at the last tile that a row of theirs sees
//   predicted TILE_ROWS times less traffic from K and V, and fewer blocks: faster from the sizes
//             on where the parent waits for memory, slower where a few blocks leave SMs idle
//   costs     with one thread a row, as the idea was first written down, 64 of 256 threads compute;
//             nothing is loaded while something is computed; one block alone takes all keys
//   searched  tiles of 16 to 128 rows and keys, 1 to 8 threads a row, as far as whole warps and no
//             more than the block's threads compute; with head dims above 64 a tile of 128 by 128
//             takes more shared memory (193 KiB) than an SM of sm_80 has
//   compiled  sm_90, nvcc 13.0: 156 registers at head dims up to 64 and 220 up to 128 (4 threads a
//             row: 119 and 160), no spills, no stack; 49 and 81 KB of shared memory a block, so one
//             block an SM (4 threads a row, head dims up to 64: two)
//   measured  H200, hot burst: 1.889x [1.887, 1.891] of the parent over 13 problems, where 2.00 was
//             predicted (sessions/ladder)

#include "cuda/scalar_plan.cuh"

#ifndef TILE_ROWS
#define TILE_ROWS 64
#endif
#ifndef TILE_KEYS
#define TILE_KEYS 64
#endif
#ifndef THREADS_PER_ROW
#define THREADS_PER_ROW 1
#endif

namespace {

using namespace wb::gpu;

constexpr int k_threads = 256;
constexpr int k_computing = TILE_ROWS * THREADS_PER_ROW;
constexpr int k_keys_at_once = 8;  // one element of q is multiplied with so many keys
static_assert(k_computing <= k_threads && k_computing % 32 == 0, "whole warps compute");
static_assert(TILE_KEYS % k_keys_at_once == 0);

// Shared memory of head dims up to Dim, in floats. A row of Q is as much longer as makes the
// threads of a warp read from 32 different banks.
template <int Dim>
struct Tiles {
  static constexpr int k_q_pitch = Dim + THREADS_PER_ROW;
  static constexpr int k_score_pitch = TILE_KEYS + 1;
  static constexpr int k_kv_at = TILE_ROWS * k_q_pitch;
  static constexpr int k_scores_at = k_kv_at + TILE_KEYS * Dim;
  static constexpr int k_bytes = (k_scores_at + TILE_ROWS * k_score_pitch) * int(sizeof(float));
};

// The state of a row, the same in all its threads but for the columns: a thread has every
// THREADS_PER_ROW-th.
template <int Dim>
struct Row {
  int part;            // which of the row's threads this is
  int keys;            // that the row sees; 0 of a row beyond the last
  int64_t mask_row;    // of the mask, in elements
  const float* q;      // shared
  float* scores;       // shared
  float maximum, sum;  // of the softmax so far
  float acc[Dim / THREADS_PER_ROW];
};

// Rows first to first + Rows of a [S, D] matrix, as floats; what lies outside is zero.
template <typename T, int Rows, int Dim>
__device__ void load_tile(float* tile, int pitch, const T* from, int64_t stride, int first,
                          int limit, int dim) {
  for (int e = int(threadIdx.x); e < Rows * Dim; e += k_threads) {
    const int row = e / Dim, d = e % Dim;
    const bool inside = first + row < limit && d < dim;
    tile[row * pitch + d] = inside ? float(from[(first + row) * stride + d]) : 0.0f;
  }
}

// q times k_keys_at_once keys from `keys` on.
template <int Dim>
__device__ void products(float (&dot)[k_keys_at_once], const Row<Dim>& r, const float* keys) {
#pragma unroll
  for (int c = 0; c < k_keys_at_once; ++c) dot[c] = 0.0f;
#pragma unroll 4
  for (int i = 0; i < Dim / THREADS_PER_ROW; ++i) {
    const int d = r.part + i * THREADS_PER_ROW;
    const float q = r.q[d];
#pragma unroll
    for (int c = 0; c < k_keys_at_once; ++c) dot[c] += q * keys[c * Dim + d];
  }
#pragma unroll
  for (int lanes = 1; lanes < THREADS_PER_ROW; lanes *= 2) {
#pragma unroll
    for (int c = 0; c < k_keys_at_once; ++c) dot[c] += __shfl_xor_sync(~0u, dot[c], lanes);
  }
}

// Fills r.scores from the tile of K that begins with first_key; gives their maximum.
template <typename T, int Dim>
__device__ float score_tile(const ScalarParams& p, const Row<Dim>& r, const float* k_tile,
                            int first_key) {
  float maximum = -INFINITY;
#pragma unroll 1
  for (int first = 0; first < TILE_KEYS; first += k_keys_at_once) {
    float dot[k_keys_at_once];
    products<Dim>(dot, r, k_tile + first * Dim);
#pragma unroll
    for (int c = 0; c < k_keys_at_once; ++c) {
      const int key = first_key + first + c;
      const float score = key < r.keys ? masked_score<T>(p, r.mask_row, key, dot[c]) : -INFINITY;
      maximum = fmaxf(maximum, score);
      if (c % THREADS_PER_ROW == r.part) r.scores[first + c] = score;
    }
  }
  return maximum;
}

// Rescales the row to the maximum that the tile brought, then adds the tile of V.
template <int Dim>
__device__ void add_tile(Row<Dim>& r, const float* v_tile, float tile_maximum) {
  constexpr int columns = Dim / THREADS_PER_ROW;
  const float larger = fmaxf(r.maximum, tile_maximum);
  const float shift = softmax_shift(larger);
  const float alpha = expf(r.maximum - shift);
  r.maximum = larger;
  r.sum *= alpha;
#pragma unroll
  for (int i = 0; i < columns; ++i) r.acc[i] *= alpha;
  for (int key = 0; key < TILE_KEYS; ++key) {
    const float weight = expf(r.scores[key] - shift);
    r.sum += weight;
    const float* v = v_tile + key * Dim + r.part;
#pragma unroll
    for (int i = 0; i < columns; ++i) r.acc[i] += weight * v[i * THREADS_PER_ROW];
  }
}

template <int Dim>
__device__ Row<Dim> start_row(const ScalarParams& p, const BlockCoord& coord, int row_in_tile) {
  using Shared = Tiles<Dim>;
  const int row = coord.part * TILE_ROWS + row_in_tile;
  Row<Dim> r;
  r.part = int(threadIdx.x) % THREADS_PER_ROW;
  r.keys = row < p.seq_q ? visible_keys(p, row) : 0;
  r.mask_row = row_offset(p.sm, coord.batch, coord.head, row);
  r.q = scalar_smem + row_in_tile * Shared::k_q_pitch;
  r.scores = scalar_smem + Shared::k_scores_at + row_in_tile * Shared::k_score_pitch;
  r.maximum = -INFINITY;
  r.sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Dim / THREADS_PER_ROW; ++i) r.acc[i] = 0.0f;
  return r;
}

template <typename T, int Dim>
__device__ void store_row(const ScalarParams& p, const BlockCoord& coord, const Row<Dim>& r,
                          int row) {
  T* out = static_cast<T*>(p.out) + row_offset(p.so, coord.batch, coord.head, row);
#pragma unroll
  for (int i = 0; i < Dim / THREADS_PER_ROW; ++i) {
    const int d = r.part + i * THREADS_PER_ROW;
    if (d < p.dim_v) out[d] = normalized<T>(r.acc[i], r.sum);
  }
  if (r.part == 0) store_lse(p, coord.batch, coord.head, row, r.maximum, r.sum);
}

// One block an SM: held to the registers of two, ptxas spills a few.
template <typename T, int Dim>
__global__ void __launch_bounds__(k_threads, 1) sequential_kv(ScalarParams p) {
  using Shared = Tiles<Dim>;
  const BlockCoord coord = block_coord(p, (p.seq_q + TILE_ROWS - 1) / TILE_ROWS);
  const int first_row = coord.part * TILE_ROWS;
  const T* q = static_cast<const T*>(p.q) + row_offset(p.sq, coord.batch, coord.head, 0);
  const T* k = static_cast<const T*>(p.k) + row_offset(p.sk, coord.batch, coord.head_kv, 0);
  const T* v = static_cast<const T*>(p.v) + row_offset(p.sv, coord.batch, coord.head_kv, 0);
  float* kv_tile = scalar_smem + Shared::k_kv_at;

  const bool computes = int(threadIdx.x) < k_computing;
  const int row_in_tile = computes ? int(threadIdx.x) / THREADS_PER_ROW : 0;
  Row<Dim> r = start_row<Dim>(p, coord, row_in_tile);
  load_tile<T, TILE_ROWS, Dim>(scalar_smem, Shared::k_q_pitch, q, p.sq.row, first_row, p.seq_q,
                               p.dim);

  // The last row of the block sees the most keys.
  const int keys = visible_keys(p, min(first_row + TILE_ROWS, p.seq_q) - 1);
  for (int first_key = 0; first_key < keys; first_key += TILE_KEYS) {
    load_tile<T, TILE_KEYS, Dim>(kv_tile, Dim, k, p.sk.row, first_key, keys, p.dim);
    __syncthreads();
    const float maximum = computes ? score_tile<T, Dim>(p, r, kv_tile, first_key) : 0.0f;
    __syncthreads();  // K is read: V takes its place
    load_tile<T, TILE_KEYS, Dim>(kv_tile, Dim, v, p.sv.row, first_key, keys, p.dim_v);
    __syncthreads();
    if (computes) add_tile<Dim>(r, kv_tile, maximum);
    __syncthreads();  // V is read: the next K takes its place
  }
  const int row = first_row + row_in_tile;
  if (computes && row < p.seq_q) store_row<T, Dim>(p, coord, r, row);
}

template <typename T>
ScalarLaunch launch_of(int64_t dim) {
  if (dim <= 64) {
    constexpr int bytes = Tiles<64>::k_bytes;
    return {&sequential_kv<T, 64>, TILE_ROWS, k_threads, bytes, bytes};
  }
  constexpr int bytes = Tiles<128>::k_bytes;
  return {&sequential_kv<T, 128>, TILE_ROWS, k_threads, bytes, bytes};
}

ScalarLaunch choose_launch(const wb_sdpa_problem& p) {
  const int64_t dim = p.dim > p.dim_v ? p.dim : p.dim_v;
  if (p.dtype == WB_F16) return launch_of<__half>(dim);
  if (p.dtype == WB_BF16) return launch_of<__nv_bfloat16>(dim);
  return launch_of<float>(dim);
}

}  // namespace

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  return create_scalar_plan("sm80_sequential_kv", problem, out, 128, choose_launch);
}
