// SPDX-License-Identifier: MIT
// Shape, work and kernel of sm90_few_keys. Idea and host part: kernel.cu, its only user.
#pragma once

#include "sm90/griddepcontrol.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/pipeline.cuh"
#include "sm90/row_store.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"

#include <algorithm>

#ifndef WARPGROUPS  // of a block, up to 64 columns and 128 keys
#define WARPGROUPS 2
#endif
#ifndef BLOCKS  // of an SM, up to 64 columns and 128 keys
#define BLOCKS 2
#endif
#ifndef Q_BUFFERS  // of a warpgroup, as far as there is room
#define Q_BUFFERS 2
#endif
#ifndef EARLY_START  // 1: the kernel may start while the one before it in the stream drains
#define EARLY_START 1
#endif

namespace wb::gpu {

struct Params {
  float* lse;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int row_blocks, tiles;  // of a head; of all
  bool negate;            // the scale's sign, folded into Q
  float scale_log2;       // magnitude, above zero
};

// COLS columns of the head dim are computed, of DP (a multiple of 64) that lie in shared memory. BN
// keys are a step, and STEPS steps are all keys of a head. KVB: steps whose K and V have room,
// those of a head at least and of two at most. Of 128 columns three warpgroups leave room for two
// heads' 128 keys, which was worth more than a fourth warpgroup.
template <typename T_, int COLS_, int BN_, int STEPS_ = 1>
struct Shape {
  using T = T_;
  static constexpr int COLS = COLS_, BN = BN_, STEPS = STEPS_, DP = (COLS + 63) / 64 * 64;
  static constexpr bool k_is_long = BN * STEPS > 128;  // two or three warpgroups fill an SM
  static constexpr int BPS = DP == 64 && !k_is_long ? BLOCKS : 1;
  static constexpr int WGS = k_is_long    ? DP == 64 || (COLS <= 80 && BN <= 128) ? 3 : 2
                             : DP == 64   ? WARPGROUPS
                             : COLS <= 80 ? 4
                                          : 3;
  static constexpr int k_threads = 128 * WGS;
  static constexpr int k_q_bytes = 64 * DP * 2, k_kv_bytes = BN * DP * 2;
  static constexpr int k_room = 228 * 1024 / BPS - 1024 - 256;
  static constexpr int KVB = std::min(2 * STEPS, (k_room - 2 * WGS * k_q_bytes) / (2 * k_kv_bytes));
  static constexpr int QB =
      std::min(Q_BUFFERS, (k_room - 2 * KVB * k_kv_bytes) / (WGS * k_q_bytes));
  static constexpr int k_k = WGS * QB * k_q_bytes;  // offsets, behind Q
  static constexpr int k_v = k_k + KVB * k_kv_bytes;
  static constexpr int k_barriers = k_v + KVB * k_kv_bytes;
  static constexpr int k_departures = k_barriers + 8 * (WGS * QB + 2 * KVB);  // of warpgroups
  static constexpr int k_smem_bytes = k_departures + 4 * KVB;
  // Keys of the first product for a step's scores: of widths that wgmma_widths.cuh lacks two.
  static constexpr int k_part = BN == 144 ? 80 : std::min(BN, 128);
  static_assert(KVB >= STEPS && QB >= 2 && k_smem_bytes - k_barriers <= 256);
};

template <class S>
struct Barriers {
  uint32_t base;
  __device__ uint32_t full_q(int at) const { return base + 8 * at; }
  __device__ uint32_t full_k(int at) const { return base + 8 * (S::WGS * S::QB + at); }
  __device__ uint32_t full_v(int at) const { return base + 8 * (S::WGS * S::QB + S::KVB + at); }
};

// A tile is 64 rows of a query head. Tiles are numbered head after head; a block has those from
// `first` to before `end`, and its warpgroups take them in turns.
struct Run {
  int first, end;
};

__device__ __forceinline__ Run run_of_block(const Params& p) {
  return {int(int64_t(p.tiles) * blockIdx.x / gridDim.x),
          int(int64_t(p.tiles) * (blockIdx.x + 1) / gridDim.x)};
}

// Where a tile lies. All query heads of a group, one after the other, are one unit: they have the
// same K and V.
struct Place {
  int row_block, head, batch, member, unit;  // member: of the group; unit: of all batches
};

__device__ __forceinline__ Place place_of(const Params& p, int tile) {
  const int head = tile / p.row_blocks;
  Place t;
  t.row_block = tile - head * p.row_blocks;
  t.batch = head / p.heads_q;
  t.head = head - t.batch * p.heads_q;
  t.unit = head / p.group;
  t.member = head - t.unit * p.group;
  return t;
}

__device__ __forceinline__ void advance(const Params& p, Place& t, int tiles) {
  t.row_block += tiles;
  while (t.row_block >= p.row_blocks) {
    t.row_block -= p.row_blocks;
    if (++t.member == p.group) {
      t.member = 0;
      ++t.unit;
    }
    if (++t.head == p.heads_q) {
      t.head = 0;
      ++t.batch;
    }
  }
}

// A warpgroup's way through its tiles. Its first thread loads Q and stores O: a buffer of Q becomes
// the buffer of its O, and is loaded anew when the copy out has read it. K and V of a step are
// loaded by the first thread of the last warpgroup to leave the step that held their buffer.
template <class S>
struct Consumer {
  const Params& p;
  unsigned char* smem;
  uint32_t base;
  Barriers<S> bar;
  const CUtensorMap* map_q;
  const CUtensorMap* map_k;
  const CUtensorMap* map_v;
  const CUtensorMap* map_o;
  int wg, thread, end;  // end: of the block's run
  int ahead_tile;       // the next one to load
  Place ahead;
  int unit, first_unit, last_unit;  // where it is, and those of the run
  int step;                         // the next to leave, counted from the run's first
  PipelineState<S::KVB> kv;         // of that step

  __device__ __forceinline__ uint32_t barrier() const { return 1 + wg; }
  __device__ __forceinline__ int q_offset(int stage) const {
    return (S::QB * wg + stage) * S::k_q_bytes;
  }
  __device__ __forceinline__ void load_query(int stage) {
    if (ahead_tile >= end) return;
    load_box<64, S::DP>(base + q_offset(stage), map_q, bar.full_q(S::QB * wg + stage),
                        ahead.row_block * 64, ahead.head, ahead.batch);
    ahead_tile += S::WGS;
    advance(p, ahead, S::WGS);
  }
  // n: a step, counted from the run's first.
  __device__ __forceinline__ void load_step(int n, int stage) {
    const int in_run = n / S::STEPS, at = first_unit + in_run;
    if (at > last_unit) return;
    const int heads_kv = p.heads_q / p.group, batch = at / heads_kv, head = at - batch * heads_kv;
    const int row = (n - in_run * S::STEPS) * S::BN;
    load_box<S::BN, S::DP>(base + S::k_k + stage * S::k_kv_bytes, map_k, bar.full_k(stage), row,
                           head, batch);
    load_box<S::BN, S::DP>(base + S::k_v + stage * S::k_kv_bytes, map_v, bar.full_v(stage), row,
                           head, batch);
  }
  // By the first thread, once all of the warpgroup have read the step's K and V.
  __device__ __forceinline__ void leave_step(int n, int stage) {
    __threadfence_block();
    int* departures = reinterpret_cast<int*>(smem + S::k_departures) + stage;
    if (atomicAdd(departures, 1) % S::WGS == S::WGS - 1) {
      __threadfence_block();
      load_step(n + S::KVB, stage);
    }
  }
  // A unit that the warpgroup has no tile of is waited for all the same, since a phase may be
  // waited for by its parity only by who has seen the one before; and by all together, since a
  // thread that looked late would see the phase after.
  __device__ __forceinline__ void skip_unit() {
#pragma unroll 1
    for (int i = 0; i < S::STEPS; ++i) {
      mbarrier_wait_parity(bar.full_k(kv.stage), kv.phase);
      mbarrier_wait_parity(bar.full_v(kv.stage), kv.phase);
      barrier_sync(barrier(), 128);
      if (thread == 0) leave_step(step, kv.stage);
      kv.advance();
      ++step;
    }
    ++unit;
  }
};

// S of Count groups of eight keys from the First-th on.
template <class S, int First, int Count>
__device__ __forceinline__ void multiply_keys(float (&s)[S::BN / 8][4], uint64_t q, uint64_t k) {
  float(&part)[Count][4] = reinterpret_cast<float(&)[Count][4]>(s[First]);
#pragma unroll
  for (int ks = 0; ks < S::COLS / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<typename S::T, Count>(
        part, wgmma_descriptor_add(q, ks / 4 * (64 * 128) + column),
        wgmma_descriptor_add(k, ks / 4 * (S::BN * 128) + First * 8 * 128 + column), ks > 0);
  }
}

template <class S>
__device__ __forceinline__ void multiply_qk(float (&s)[S::BN / 8][4], uint64_t q, uint64_t k) {
  multiply_keys<S, 0, S::k_part / 8>(s, q, k);
  if constexpr (S::BN > S::k_part) {
    multiply_keys<S, S::k_part / 8, (S::BN - S::k_part) / 8>(s, q, k);
  }
}

// Takes out the keys beyond the last, group by group from the end.
template <int N>
__device__ __forceinline__ void mask_end(float (&s)[N][4], int keys, int lane) {
#pragma unroll
  for (int n = N - 1; n >= 0; --n) {
    if (8 * n + 8 <= keys) break;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (8 * n + 2 * (lane % 4) + c % 2 >= keys) s[n][c] = -INFINITY;
    }
  }
}

// O, divided by the sums, into the tile's buffer; the log-sum-exp out.
template <class S>
__device__ __forceinline__ void stage_rows(const Consumer<S>& w, const float (&o)[S::COLS / 8][4],
                                           const RowState& r, const Place& t, int stage) {
  const int warp = w.thread / 32, quad = w.thread % 32 / 4, pair = w.thread % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * 16 + 8 * half + quad;
    const float l = r.l[half], inverse = l > 0.0f ? 1.0f / l : 0.0f;
    row_to_smem<typename S::T>(o, half, inverse, w.smem + w.q_offset(stage), row, 0, pair);
    const int query = t.row_block * 64 + row;
    if (w.p.lse != nullptr && pair == 0 && query < w.p.seq_q) {
      w.p.lse[(int64_t(t.batch) * w.p.heads_q + t.head) * w.p.seq_q + query] =
          l > 0.0f ? r.m[half] * (w.p.scale_log2 * k_ln_2) + logf(l) : -INFINITY;
    }
  }
}

template <class S>
__device__ __forceinline__ void consume(Consumer<S>& w, int first) {
  const Params& p = w.p;
  const int lane = w.thread % 32;
  int tile = first + w.wg;
  Place t = place_of(p, tile);
  w.unit = w.first_unit = place_of(p, first).unit;
  w.last_unit = place_of(p, w.end - 1).unit;
  w.step = 0;
  w.ahead_tile = tile;
  w.ahead = t;
  if (w.thread == 0) {
    if (EARLY_START) {
      griddepcontrol_launch_dependents();
      griddepcontrol_wait();
    }
    if (w.wg == 0) w.load_step(0, 0);
    for (int i = 0; i < S::QB; ++i) w.load_query(i);
    if (w.wg == 0) {
      for (int i = 1; i < S::KVB; ++i) w.load_step(i, i);
    }
  }
  PipelineState<S::QB> q;
  for (; tile < w.end; tile += S::WGS) {
    while (w.unit < t.unit) w.skip_unit();
    Place next = t;
    advance(p, next, S::WGS);
    const bool leaves = tile + S::WGS >= w.end || next.unit != t.unit;
    float o[S::COLS / 8][4];
    RowState r = {};
    r.m[0] = r.m[1] = -INFINITY;
    mbarrier_wait_parity(w.bar.full_q(S::QB * w.wg + q.stage), q.phase);
    if (p.negate) negate_query<S::k_q_bytes>(w.smem + w.q_offset(q.stage), w.thread, w.barrier());
    PipelineState<S::KVB> kv = w.kv;
    const uint64_t q_operand =
        wgmma_descriptor_add(wgmma_descriptor_k_major(w.base), w.q_offset(q.stage));
#pragma unroll 1
    for (int step = 0; step < S::STEPS; ++step) {
      float s[S::BN / 8][4];
      uint32_t prob[S::BN / 16][4];
      mbarrier_wait_parity(w.bar.full_k(kv.stage), kv.phase);
      fence_operands(s);
      wgmma_fence();
      multiply_qk<S>(s, q_operand,
                     wgmma_descriptor_add(wgmma_descriptor_k_major(w.base + S::k_k),
                                          kv.stage * S::k_kv_bytes));
      wgmma_commit_group();
      // The tile before is out, or nearly so: its buffer is for the next tile to load.
      if (step == 0 && w.thread == 0 && tile != first + w.wg) {
        cp_async_bulk_wait_group_read();
        w.load_query(q.stage == 0 ? S::QB - 1 : q.stage - 1);
      }
      wgmma_wait_group<0>();
      fence_operands(s);
      if (step == S::STEPS - 1) mask_end(s, p.seq_kv - step * S::BN, lane);
      softmax<S::BN / 8>(s, r, p.scale_log2);
      if (step > 0) rescale(o, r.alpha);
      mbarrier_wait_parity(w.bar.full_v(kv.stage), kv.phase);
      pack_probabilities<typename S::T>(prob, s);
      const uint64_t v_operand = wgmma_descriptor_add(
          wgmma_descriptor_mn_major(w.base + S::k_v, S::BN * 128), kv.stage * S::k_kv_bytes);
      fence_operands(o);
      fence_operands(prob);
      wgmma_fence();
#pragma unroll
      for (int ks = 0; ks < S::BN / 16; ++ks) {
        wgmma_rs<typename S::T, S::COLS / 8>(
            o, prob[ks], wgmma_descriptor_add(v_operand, ks * (16 * 128)), step > 0 || ks > 0);
      }
      wgmma_commit_group();
      if (step == S::STEPS - 1) {
        barrier_sync(w.barrier(), 128);  // every warp has read Q: O overlays it
        reduce_row_sums(r);
      }
      wgmma_wait_group<0>();
      fence_operands(o);
      fence_operands(prob);
      if (leaves && step < S::STEPS - 1) {
        barrier_sync(w.barrier(), 128);
        if (w.thread == 0) w.leave_step(w.step + step, kv.stage);
      }
      if (step < S::STEPS - 1) kv.advance();
    }
    stage_rows<S>(w, o, r, t, q.stage);
    fence_proxy_async_shared();
    barrier_sync(w.barrier(), 128);
    if (w.thread == 0) {
#pragma unroll
      for (int slab = 0; slab < S::DP / 64; ++slab) {
        if (slab * 64 < p.dim_v) {
          cp_async_bulk_tensor_4d_out(w.map_o, w.base + w.q_offset(q.stage) + slab * (64 * 128),
                                      slab * 64, t.row_block * 64, t.head, t.batch);
        }
      }
      cp_async_bulk_commit_group();
      if (leaves) w.leave_step(w.step + S::STEPS - 1, kv.stage);
    }
    if (leaves) {
      kv.advance();
      w.kv = kv;
      w.step += S::STEPS;
      ++w.unit;
    }
    q.advance();
    t = next;
  }
  while (w.unit <= w.last_unit) w.skip_unit();
  if (w.thread == 0) cp_async_bulk_wait_group_read();
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS)
    few_keys(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
             const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o,
             const Params p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const Barriers<S> bar = {base + S::k_barriers};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::WGS * S::QB; ++i) mbarrier_init(bar.full_q(i), 1);
    for (int i = 0; i < S::KVB; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.full_v(i), 1);
      reinterpret_cast<int*>(smem + S::k_departures)[i] = 0;
    }
    fence_mbarrier_init();
    prefetch_tensormap(&map_q);
    prefetch_tensormap(&map_k);
    prefetch_tensormap(&map_v);
  }
  __syncthreads();
  const Run run = run_of_block(p);
  Consumer<S> w = {p, smem, base, bar, &map_q, &map_k, &map_v, &map_o};
  w.wg = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  w.thread = threadIdx.x % 128;
  w.end = run.end;
  consume<S>(w, run.first);
}

}  // namespace wb::gpu
