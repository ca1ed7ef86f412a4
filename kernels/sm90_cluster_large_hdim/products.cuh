// SPDX-License-Identifier: MIT
// The two products of sm90_cluster_large_hdim, by warps or by warpgroups (tf32x3.cuh), what a warp
// has of them, and what comes behind: the partial scores staged, O stored.
#pragma once

#include "shape.cuh"
#include "sm90/warpgroup.cuh"
#include "tf32x3.cuh"

#include <cstdint>

namespace wb::gpu {

// What a warp has of Q K^T: 16 keys and a part of the columns; with few columns the last warps have
// none.
template <class S>
struct KeyPart {
  int key, part, column;
  bool any;
  __device__ __forceinline__ explicit KeyPart(int warp)
      : key(warp % S::k_key_tiles * 16),
        part(warp / S::k_key_tiles),
        column(part * S::k_columns),
        any(column < S::DS) {}
};

// What a warp has of P V: columns of O from `column` on, k_out_rows rows from `row` on.
template <class S>
struct OutPart {
  static constexpr int groups = S::k_out_rows / 8;
  // Tiles of 16 columns go in pairs where a warp has two: then the lane's columns of both lie side
  // by side, and it reads V and writes O in 16 bytes.
  static constexpr int together = S::k_out_tiles > 1 ? 2 : 1;
  int column, row;
  bool any;
  __device__ __forceinline__ explicit OutPart(int warp)
      : column(warp % S::k_out_warps * (16 * S::k_out_tiles)),
        row(warp / S::k_out_warps * S::k_out_rows),
        any(row < S::BM) {}
};

template <int N>
__device__ __forceinline__ void clear(float (&s)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) s[n][c] = 0.0f;
  }
}

template <int N>
__device__ __forceinline__ void add(float (&s)[N][4], const float (&x)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) s[n][c] += x[n][c];
  }
}

// Splits what tf32 multiplies of a tile that lies swizzled: `from` one unit into its two parts.
__device__ __forceinline__ void split_unit(float* high, float* low, const float* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  *reinterpret_cast<float4*>(high) = tf32_high(x);
  *reinterpret_cast<float4*>(low) = tf32_low(x);
}

// The team's share of Q's run, in place: each thread splits the units that it loaded itself.
template <class S>
__device__ __forceinline__ void split_query(float* smem, const KeyPart<S>& mine, int run) {
  using Mine = Share<S::k_team, S::k_run>;
  using Layout = Swizzled<S::BM>;
  const int row = Mine::row();
  float* first = smem + S::k_q +
                 (Layout::at(row, Mine::unit()) + Layout::right(mine.column + run * S::k_run)) / 4;
#pragma unroll
  for (int r = 0; r < S::BM; r += Mine::hop) {
    float* at = first + Layout::down(r) / 4;
    split_unit(at, at + (S::k_q_low - S::k_q), at);
  }
  fence_proxy_async_shared();
}

// Waits until the team has its columns of Q and K of a run; the loading groups of the first step's
// runs are the newest ones, later only V's is newer.
template <class S>
__device__ __forceinline__ void await_run(float* smem, const KeyPart<S>& mine, int run,
                                          bool first_step) {
  if (first_step) {
    switch (S::k_runs - 1 - run) {
      case 0:
        cp_async_wait_group<0>();
        break;
      case 1:
        cp_async_wait_group<1>();
        break;
      case 2:
        cp_async_wait_group<2>();
        break;
      default:
        cp_async_wait_group<3>();
    }
    if constexpr (S::k_warpgroups) split_query<S>(smem, mine, run);
  } else if (run == 0) {
    cp_async_wait_group<1>();
  } else {
    return;
  }
  barrier_sync(1 + mine.part, S::k_team);
}

// P, from the place where it is received.
template <class S>
__device__ __forceinline__ void split_probabilities(float* smem) {
  constexpr int units = S::BK / 4, hop = k_threads / units;
  const int row = threadIdx.x / units, unit = threadIdx.x % units;
#pragma unroll
  for (int r = 0; r < S::BM; r += hop) {
    if (S::BM < hop && row >= S::BM) break;
    float* to = smem + S::k_p_high + Swizzled<S::BM>::at(row + r, unit) / 4;
    split_unit(to, to + (S::k_p_low - S::k_p_high),
               smem + S::k_recv_p + (row + r) * S::k_p_line + 4 * unit);
  }
  fence_proxy_async_shared();
}

// Partial scores over the warp's columns: s[n][2 i + c] is of its key lane / 4 + 8 i and of row
// 8 n + 2 (lane % 4) + c. `meanwhile` is done while the last products are under way.
template <class S, class F>
__device__ __forceinline__ void partial_scores(float (&s)[S::BM / 8][4], float* smem, uint32_t base,
                                               const KeyPart<S>& mine, bool first_step, int lane,
                                               F meanwhile) {
  constexpr int groups = S::BM / 8;
  const uint32_t k_at = base + (S::k_k + mine.key * S::k_line + mine.column) * 4;
  clear(s);
  if (!mine.any) {
    meanwhile();
    return;
  }
  if constexpr (S::k_warpgroups) {
    using Layout = Swizzled<S::BM>;
    constexpr int steps = S::k_run / 8;
    const uint64_t high = wgmma_descriptor_k_major(base + S::k_q * 4 + Layout::right(mine.column));
    const uint64_t low = wgmma_descriptor_add(high, (S::k_q_low - S::k_q) * 4);
    float sums[S::k_runs][groups][4];
    Split a[S::k_runs][steps];
#pragma unroll
    for (int run = 0; run < S::k_runs; ++run) {
      const int right = Layout::right(run * S::k_run);
      await_run<S>(smem, mine, run, first_step);
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        uint32_t x[4];
        load_rows_a(x, k_at + (run * S::k_run + 8 * i) * 4, S::k_line, lane);
        a[run][i] = Split(x);
      }
      fence_operands(sums[run]);
      fence_operands(a[run]);
      wgmma_fence();
      wgmma_sums<steps>(sums[run], a[run], wgmma_descriptor_add(high, right),
                        wgmma_descriptor_add(low, right), Layout::k_slab);
      wgmma_commit_group();
    }
    meanwhile();
    wgmma_wait_group<0>();
#pragma unroll
    for (int run = 0; run < S::k_runs; ++run) {
      fence_operands(sums[run]);
      fence_operands(a[run]);
      add(s, sums[run]);
    }
  } else {
    const uint32_t q_at = base + (S::k_q + mine.column) * 4;
#pragma unroll
    for (int run = 0; run < S::k_runs; ++run) {
      Sums<groups> sums;
      float total[groups][4];
      await_run<S>(smem, mine, run, first_step);
#pragma unroll
      for (int d = run * S::k_run; d < (run + 1) * S::k_run; d += 16) {
        uint32_t x[4], b[groups][4];
#pragma unroll
        for (int n = 0; n < groups; ++n) {
          load_rows_b(b[n], q_at + (8 * n * S::k_line + d) * 4, S::k_line, lane);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          load_rows_a(x, k_at + (d + 8 * half) * 4, S::k_line, lane);
          sums.add(Split(x), b, half);
        }
      }
      if (run + 1 == S::k_runs) meanwhile();
      sums.total(total);
      add(s, total);
    }
  }
}

// Partial scores as [part][row][key].
template <class S>
__device__ __forceinline__ void stage_scores(float* scratch, const float (&s)[S::BM / 8][4],
                                             const KeyPart<S>& mine, int lane) {
  float* at = scratch + (mine.part * S::BM + lane % 4 * 2) * S::k_part_line + mine.key + lane / 4;
#pragma unroll
  for (int n = 0; n < S::BM / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      at[(8 * n + c % 2) * S::k_part_line + c / 2 * 8] = s[n][c];
    }
  }
}

// Columns of V as operands A, transposed: of a tile of 16 columns (of two side by side) and 8 keys.
// A tile's rows lane / 4 and lane / 4 + 8 stand for two neighbouring columns.
template <int Together>
__device__ __forceinline__ void load_columns_a(Split (&a)[Together], const float* at, int line) {
  if constexpr (Together == 2) {
    const uint4 x = *reinterpret_cast<const uint4*>(at);
    const uint4 y = *reinterpret_cast<const uint4*>(at + 4 * line);
    a[0] = Split({x.x, x.y, y.x, y.y});
    a[1] = Split({x.z, x.w, y.z, y.w});
  } else {
    const uint2 x = *reinterpret_cast<const uint2*>(at);
    const uint2 y = *reinterpret_cast<const uint2*>(at + 4 * line);
    a[0] = Split({x.x, x.y, y.x, y.y});
  }
}

// o = o * factor + x, rows as in accumulate.
template <int N>
__device__ __forceinline__ void advance(float (&o)[N][4], const float (&x)[N][4],
                                        const float2* factors) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] = fmaf(o[n][c], factors[8 * n + c % 2].x, x[n][c]);
  }
}

// O = O * factor + P V on the warp's columns and rows: o[tile][n][2 i + c] is of its column
// 2 (lane / 4) + i (in a pair of tiles: 4 (lane / 4) + 2 (tile % 2) + i) and of row
// 8 n + 2 (lane % 4) + c.
template <class S>
__device__ __forceinline__ void gemm_pv(float (&o)[S::k_out_tiles][S::k_out_rows / 8][4],
                                        const float* smem, uint32_t base, const OutPart<S>& mine,
                                        int lane) {
  constexpr int groups = OutPart<S>::groups, together = OutPart<S>::together;
  const float2* factors =
      reinterpret_cast<const float2*>(smem + S::k_recv_factor) + mine.row + lane % 4 * 2;
  const float* v = smem + S::k_v + lane % 4 * S::k_v_line + mine.column + lane / 4 * (2 * together);
  if constexpr (S::k_warpgroups) {
    static_assert(S::k_out_tiles == 1);
    constexpr int steps = S::BK / 8;
    const uint64_t high = wgmma_descriptor_k_major(base + S::k_p_high * 4 + mine.row * 128);
    const uint64_t low = wgmma_descriptor_add(high, (S::k_p_low - S::k_p_high) * 4);
    float sums[groups][4];
    Split a[steps];
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      Split one[1];
      load_columns_a(one, v + 8 * i * S::k_v_line, S::k_v_line);
      a[i] = one[0];
    }
    fence_operands(sums);
    fence_operands(a);
    wgmma_fence();
    wgmma_sums<steps>(sums, a, high, low, Swizzled<S::BM>::k_slab);
    wgmma_commit_group();
    wgmma_wait_group<0>();
    fence_operands(sums);
    fence_operands(a);
    advance(o[0], sums, factors);
  } else {
    const uint32_t prob = base + (S::k_recv_p + mine.row * S::k_p_line) * 4;
    constexpr int at_once = S::k_out_tiles * groups < 16 ? S::BK / 16 : 1;  // else registers spill
#pragma unroll
    for (int tile = 0; tile < S::k_out_tiles; tile += together) {
      Sums<groups> sums[together];
#pragma unroll at_once
      for (int key = 0; key < S::BK; key += 16) {
        uint32_t b[groups][4];
#pragma unroll
        for (int n = 0; n < groups; ++n) {
          load_rows_b(b[n], prob + (8 * n * S::k_p_line + key) * 4, S::k_p_line, lane);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          Split a[together];
          load_columns_a(a, v + (key + 8 * half) * S::k_v_line + 16 * tile, S::k_v_line);
#pragma unroll
          for (int i = 0; i < together; ++i) sums[i].add(a[i], b, half);
        }
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        float total[groups][4];
        sums[i].total(total);
        advance(o[tile + i], total, factors);
      }
    }
  }
}

// O divided by its sums and out; `to` is the lane's first column of its row 0, of which `dim`
// columns and `rows` rows are left.
template <class S>
__device__ __forceinline__ void store_out(float* to, int64_t stride,
                                          const float (&o)[S::k_out_tiles][S::k_out_rows / 8][4],
                                          const float2* inverses, int rows, int dim, bool any_key) {
  constexpr int together = OutPart<S>::together;
#pragma unroll
  for (int n = 0; n < OutPart<S>::groups; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if (8 * n + c >= rows) return;
      const float inverse = any_key ? inverses[8 * n + c].x : 0.0f;
      float* row = to + (8 * n + c) * stride;
#pragma unroll
      for (int tile = 0; tile < S::k_out_tiles; tile += together) {
        if (16 * tile >= dim) break;
        const float first = o[tile][n][c] * inverse, next = o[tile][n][2 + c] * inverse;
        if constexpr (together == 2) {
          *reinterpret_cast<float4*>(row + 16 * tile) = make_float4(
              first, next, o[tile + 1][n][c] * inverse, o[tile + 1][n][2 + c] * inverse);
        } else {
          *reinterpret_cast<float2*>(row + 16 * tile) = make_float2(first, next);
        }
      }
    }
  }
}

}  // namespace wb::gpu
