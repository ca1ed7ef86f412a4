// SPDX-License-Identifier: MIT
// sm80_mma_flash: short self-attention on mma.sync with cp.async.
//
// Idea. Below S of about 1024 the device is not full and a call is a chain of latencies, so the
// tile is chosen by the grid it makes: 16 to 128 query rows a block, and up to 8 warps of a block
// that split the keys of a row group between them (each with its own running softmax, merged once
// in shared memory at the end). All of K and V that fits is requested before the first wait, so a
// short problem pays one memory latency. Warps of a block share every K and V tile.
// Each warp owns MW x 16 rows: S = Q K^T with Q in registers, P stays in registers as the A operand
// of P V. Causal blocks are launched longest first; only tiles that cross the diagonal or the end
// of the keys are masked. Any head dim up to DP works; rows that are not 16-byte aligned take the
// scalar loader.
//
// Parent: none. Predicted: 1.8x on S up to 512 with few heads, where fixed 128-row tiles leave the
// device idle; 1.1x at B*H 128, S 512. Measured: docs/kernels.md.

#include "../common/cp_async.cuh"
#include "../common/griddepcontrol.cuh"
#include "../common/mma.cuh"
#include "../common/plan.cuh"

#include <algorithm>
#include <cmath>
#include <new>

#ifndef WB_PDL  // start while the previous kernel drains: 0 never, 1 where it pays, 2 always
#define WB_PDL 1
#endif
#ifndef WB_TILE  // index into the tile table of a head dim; -1 chooses by the grid
#define WB_TILE -1
#endif

namespace {

using namespace wb::gpu;

struct Params {
  const void* q;
  const void* k;
  const void* v;
  void* out;
  float* lse;
  wb_strides sq, sk, sv, so;
  int heads_q, group, seq_q, seq_kv, dim, dim_v;
  int causal_offset;  // a row keeps key <= q + offset; seq_kv without a causal rule
  int row_blocks;
  bool vector_io;    // every row starts on 16 bytes and holds a multiple of 8 elements
  bool negate;       // the scale's sign, folded into Q
  float scale_log2;  // magnitude, above zero
};

// A warp owns MW x 16 rows and KW keys of every tile; WM warps along the rows, WN along the keys.
template <typename T_, int DP_, int MW_, int WM_, int WN_, int KW_, int STAGES_, int BPS_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, MW = MW_, WM = WM_, WN = WN_, KW = KW_, STAGES = STAGES_;
  static constexpr int BPS = BPS_;
  // Q stays in registers unless O and S leave no room for it; then it is read again every tile.
  static constexpr bool k_keep_q = DP <= 128;
  static constexpr int k_rows = 16 * MW * WM;
  static constexpr int k_keys = KW * WN;
  static constexpr int k_threads = 32 * WM * WN;
  static constexpr int k_line = DP * 2;  // bytes of a row in shared memory
  static constexpr int k_q_bytes = k_rows * k_line;
  static constexpr int k_tile_bytes = k_keys * k_line;
  static constexpr int k_stage_bytes = 2 * k_tile_bytes;
  static constexpr int k_partial_stride = DP + 4;
  static constexpr int k_merge_bytes = WN > 1 ? WN* k_rows*(k_partial_stride * 4 + 8) : 0;
  static constexpr int k_ring_bytes =
      STAGES * k_stage_bytes > k_merge_bytes ? STAGES* k_stage_bytes : k_merge_bytes;
  static constexpr int k_smem_bytes = k_q_bytes + k_ring_bytes;
};

// The 16-byte unit u of row r lies at unit u ^ (r % 8): ldmatrix meets no bank twice.
template <int Line>
__device__ __forceinline__ uint32_t unit_at(uint32_t base, int row, int unit) {
  return base + row * Line + ((unit ^ (row & 7)) << 4);
}

// Rows [first, first + Rows) of a [S, D] matrix into shared memory; what lies outside is zero.
template <typename T, int Rows, int DP, int Threads>
__device__ __forceinline__ void load_rows(uint32_t smem, unsigned char* smem_pointer, const T* src,
                                          int64_t stride, int first, int limit, int dim,
                                          bool vector_io) {
  constexpr int units = DP / 8;
  if (vector_io) {
#pragma unroll
    for (int i = 0; i < (Rows * units + Threads - 1) / Threads; ++i) {
      const int e = i * Threads + threadIdx.x;
      if (Rows * units % Threads != 0 && e >= Rows * units) break;
      const int row = e / units, unit = e % units;
      const bool valid = first + row < limit && unit * 8 < dim;
      const T* from = src + (valid ? (first + row) * stride + unit * 8 : 0);
      cp_async_cg_zfill(unit_at<DP * 2>(smem, row, unit), from, valid);
    }
    return;
  }
  for (int e = threadIdx.x; e < Rows * DP; e += Threads) {
    const int row = e / DP, d = e % DP;
    const bool valid = first + row < limit && d < dim;
    const T value = valid ? src[(first + row) * stride + d] : T(0.0f);
    *reinterpret_cast<T*>(smem_pointer + unit_at<DP * 2>(0, row, d / 8) + d % 8 * 2) = value;
  }
}

template <class S>
struct WarpState {
  uint32_t q[S::MW][S::k_keep_q ? S::DP / 16 : 1][4];
  float o[S::MW][S::DP / 8][4];
  float m[S::MW][2], l[S::MW][2];  // rows g and g + 8: running max (unscaled), this lane's sum
};

template <class S>
__device__ __forceinline__ void load_query_step(uint32_t (&q)[4], uint32_t q_at, int row, int ks,
                                                int lane, bool negate) {
  ldmatrix_x4(q, unit_at<S::k_line>(q_at, row + lane % 16, 2 * ks + lane / 16));
  const uint32_t flip = negate ? 0x80008000u : 0u;
#pragma unroll
  for (int c = 0; c < 4; ++c) q[c] ^= flip;
}

template <class S>
__device__ __forceinline__ void start_rows(WarpState<S>& w, uint32_t q_at, int warp_row, int lane,
                                           bool negate) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
    if constexpr (S::k_keep_q) {
#pragma unroll
      for (int ks = 0; ks < S::DP / 16; ++ks) {
        load_query_step<S>(w.q[i][ks], q_at, warp_row + 16 * i, ks, lane, negate);
      }
    }
#pragma unroll
    for (int n = 0; n < S::DP / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) w.o[i][n][c] = 0.0f;
    }
    w.m[i][0] = w.m[i][1] = -INFINITY;
    w.l[i][0] = w.l[i][1] = 0.0f;
  }
}

// S = Q K^T over this warp's KW keys.
template <class S>
__device__ __forceinline__ void score(float (&s)[S::MW][S::KW / 8][4], WarpState<S>& w,
                                      uint32_t q_at, int warp_row, uint32_t k_at, int warp_key,
                                      int lane, bool negate) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int n = 0; n < S::KW / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) s[i][n][c] = 0.0f;
    }
  }
#pragma unroll
  for (int ks = 0; ks < S::DP / 16; ++ks) {
    const int kq = S::k_keep_q ? ks : 0;
    if constexpr (!S::k_keep_q) {
#pragma unroll
      for (int i = 0; i < S::MW; ++i) {
        load_query_step<S>(w.q[i][0], q_at, warp_row + 16 * i, ks, lane, negate);
      }
    }
#pragma unroll
    for (int n = 0; n < S::KW / 16; ++n) {
      // keys 0-7 | k 0-7, keys 0-7 | k 8-15, keys 8-15 | k 0-7, keys 8-15 | k 8-15
      const int row = warp_key + 16 * n + lane % 8 + lane / 16 * 8;
      uint32_t b[4];
      ldmatrix_x4(b, unit_at<S::k_line>(k_at, row, 2 * ks + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < S::MW; ++i) {
        mma_m16n8k16<typename S::T>(s[i][2 * n], w.q[i][kq], b[0], b[1]);
        mma_m16n8k16<typename S::T>(s[i][2 * n + 1], w.q[i][kq], b[2], b[3]);
      }
    }
  }
}

template <class S>
__device__ __forceinline__ void mask_scores(float (&s)[S::MW][S::KW / 8][4], const Params& p,
                                            int first_query, int first_key, int lane) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first_query + 16 * i + lane / 4 + 8 * half;
      const int limit = min(p.seq_kv - 1, query + p.causal_offset);
#pragma unroll
      for (int n = 0; n < S::KW / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          if (first_key + 8 * n + 2 * (lane % 4) + c > limit) s[i][n][2 * half + c] = -INFINITY;
        }
      }
    }
  }
}

// Online softmax; s becomes P (f32), O is rescaled.
template <class S>
__device__ __forceinline__ void softmax(float (&s)[S::MW][S::KW / 8][4], WarpState<S>& w,
                                        float scale_log2) {
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = w.m[i][half];
#pragma unroll
      for (int n = 0; n < S::KW / 8; ++n) {
        top = fmaxf(top, fmaxf(s[i][n][2 * half], s[i][n][2 * half + 1]));
      }
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      const float shift = top == -INFINITY ? 0.0f : top * scale_log2;
      // A difference first: exactly 1 while the maximum stands, else the error would compound.
      const float alpha = top == -INFINITY ? 0.0f : ex2((w.m[i][half] - top) * scale_log2);
      w.m[i][half] = top;
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < S::KW / 8; ++n) {
#pragma unroll
        for (int c = 2 * half; c < 2 * half + 2; ++c) {
          s[i][n][c] = ex2(s[i][n][c] * scale_log2 - shift);
          sum += s[i][n][c];
        }
      }
      w.l[i][half] = w.l[i][half] * alpha + sum;
#pragma unroll
      for (int n = 0; n < S::DP / 8; ++n) {
        w.o[i][n][2 * half] *= alpha;
        w.o[i][n][2 * half + 1] *= alpha;
      }
    }
  }
}

// O += P V over this warp's keys.
template <class S>
__device__ __forceinline__ void accumulate(WarpState<S>& w, const float (&s)[S::MW][S::KW / 8][4],
                                           uint32_t v_at, int warp_key, int lane) {
#pragma unroll
  for (int ks = 0; ks < S::KW / 16; ++ks) {
    uint32_t a[S::MW][4];
#pragma unroll
    for (int i = 0; i < S::MW; ++i) {
      a[i][0] = pack2<typename S::T>(s[i][2 * ks][0], s[i][2 * ks][1]);
      a[i][1] = pack2<typename S::T>(s[i][2 * ks][2], s[i][2 * ks][3]);
      a[i][2] = pack2<typename S::T>(s[i][2 * ks + 1][0], s[i][2 * ks + 1][1]);
      a[i][3] = pack2<typename S::T>(s[i][2 * ks + 1][2], s[i][2 * ks + 1][3]);
    }
    const int row = warp_key + 16 * ks + lane % 16;
#pragma unroll
    for (int n = 0; n < S::DP / 16; ++n) {
      uint32_t b[4];
      ldmatrix_x4_trans(b, unit_at<S::k_line>(v_at, row, 2 * n + lane / 16));
#pragma unroll
      for (int i = 0; i < S::MW; ++i) {
        mma_m16n8k16<typename S::T>(w.o[i][2 * n], a[i], b[0], b[1]);
        mma_m16n8k16<typename S::T>(w.o[i][2 * n + 1], a[i], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ float lse_of(const Params& p, float m, float l) {
  return l > 0.0f ? m * p.scale_log2 * k_ln_2 + logf(l) : -INFINITY;
}

// One warp had all keys: O goes through its own rows of the Q tile, then out in 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(WarpState<S>& w, const Params& p, typename S::T* out,
                                           float* lse, uint32_t q_at, unsigned char* q_smem,
                                           int first_query, int warp_row, int lane) {
  using T = typename S::T;
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + 16 * i + 8 * half + g;
      const float l = w.l[i][half];
      const float inverse = l > 0.0f ? 1.0f / l : 0.0f;  // a row with no key gives zeros
#pragma unroll
      for (int n = 0; n < S::DP / 8; ++n) {
        *reinterpret_cast<uint32_t*>(q_smem + unit_at<S::k_line>(0, row, n) + 4 * t) =
            pack2<T>(w.o[i][n][2 * half] * inverse, w.o[i][n][2 * half + 1] * inverse);
      }
      if (lse != nullptr && t == 0 && first_query + row < p.seq_q) {
        lse[first_query + row] = lse_of(p, w.m[i][half], l);
      }
    }
  }
  __syncwarp();
  constexpr int units = S::DP / 8;
#pragma unroll
  for (int e = lane; e < 16 * S::MW * units; e += 32) {
    const int row = warp_row + e / units, unit = e % units;
    if (first_query + row >= p.seq_q || unit * 8 >= p.dim_v) continue;
    const uint4 bits = *reinterpret_cast<const uint4*>(q_smem + unit_at<S::k_line>(0, row, unit));
    T* to = out + (first_query + row) * p.so.row + unit * 8;
    if (p.vector_io) {
      *reinterpret_cast<uint4*>(to) = bits;
    } else {
      const T* values = reinterpret_cast<const T*>(&bits);
      for (int c = 0; c < 8 && unit * 8 + c < p.dim_v; ++c) to[c] = values[c];
    }
  }
}

// Warps shared the keys: partial O and (m, l) of each into shared memory, then one weighted sum.
template <class S>
__device__ __forceinline__ void merge_rows(WarpState<S>& w, const Params& p, typename S::T* out,
                                           float* lse, unsigned char* smem, int first_query,
                                           int warp_row, int wn, int lane) {
  using T = typename S::T;
  float* partial = reinterpret_cast<float*>(smem);
  float2* stats = reinterpret_cast<float2*>(partial + S::WN * S::k_rows * S::k_partial_stride);
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + 16 * i + 8 * half + g;
      float* line = partial + (wn * S::k_rows + row) * S::k_partial_stride;
#pragma unroll
      for (int n = 0; n < S::DP / 8; ++n) {
        *reinterpret_cast<float2*>(line + 8 * n + 2 * t) =
            make_float2(w.o[i][n][2 * half], w.o[i][n][2 * half + 1]);
      }
      if (t == 0) stats[wn * S::k_rows + row] = make_float2(w.m[i][half], w.l[i][half]);
    }
  }
  __syncthreads();
  constexpr int quads = S::DP / 4;
#pragma unroll
  for (int i = 0; i < (S::k_rows * quads + S::k_threads - 1) / S::k_threads; ++i) {
    const int e = i * S::k_threads + threadIdx.x;
    const int row = e / quads, d = e % quads * 4;
    if (row >= S::k_rows || first_query + row >= p.seq_q || d >= p.dim_v) continue;
    float top = -INFINITY;
#pragma unroll
    for (int n = 0; n < S::WN; ++n) top = fmaxf(top, stats[n * S::k_rows + row].x);
    const float shift = top == -INFINITY ? 0.0f : top * p.scale_log2;
    float l = 0.0f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int n = 0; n < S::WN; ++n) {
      const float2 ml = stats[n * S::k_rows + row];
      const float weight = ex2(ml.x * p.scale_log2 - shift);
      const float4 o = *reinterpret_cast<const float4*>(
          partial + (n * S::k_rows + row) * S::k_partial_stride + d);
      l += weight * ml.y;
      sum.x += weight * o.x;
      sum.y += weight * o.y;
      sum.z += weight * o.z;
      sum.w += weight * o.w;
    }
    const float inverse = l > 0.0f ? 1.0f / l : 0.0f;
    uint2 bits;
    bits.x = pack2<T>(sum.x * inverse, sum.y * inverse);
    bits.y = pack2<T>(sum.z * inverse, sum.w * inverse);
    T* to = out + (first_query + row) * p.so.row + d;
    if (p.vector_io) {
      *reinterpret_cast<uint2*>(to) = bits;
    } else {
      const T* values = reinterpret_cast<const T*>(&bits);
      for (int c = 0; c < 4 && d + c < p.dim_v; ++c) to[c] = values[c];
    }
    if (lse != nullptr && d == 0) lse[first_query + row] = lse_of(p, top, l);
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS) mma_flash(const Params p) {
  using T = typename S::T;
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t q_at = smem_address(smem), ring_at = q_at + S::k_q_bytes;
  unsigned char* ring = smem + S::k_q_bytes;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int wm = warp % S::WM, wn = warp / S::WM;
  const int warp_row = wm * 16 * S::MW, warp_key = wn * S::KW;

  // Later row blocks have more keys under a causal rule: launch them first.
  const int row_block = p.row_blocks - 1 - blockIdx.y;
  const int first_query = row_block * S::k_rows;
  const int batch = blockIdx.x / p.heads_q, head = blockIdx.x % p.heads_q;
  const int head_kv = head / p.group;
  const T* q = static_cast<const T*>(p.q) + batch * p.sq.batch + head * p.sq.head;
  const T* k = static_cast<const T*>(p.k) + batch * p.sk.batch + head_kv * p.sk.head;
  const T* v = static_cast<const T*>(p.v) + batch * p.sv.batch + head_kv * p.sv.head;
  T* out = static_cast<T*>(p.out) + batch * p.so.batch + head * p.so.head;
  float* lse = p.lse == nullptr ? nullptr : p.lse + int64_t(blockIdx.x) * p.seq_q;

  const int last_query = min(first_query + S::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  const int tiles = (keys + S::k_keys - 1) / S::k_keys;

  const auto load_k = [&](int tile, int slot) {
    load_rows<T, S::k_keys, S::DP, S::k_threads>(ring_at + slot * S::k_stage_bytes,
                                                 ring + slot * S::k_stage_bytes, k, p.sk.row,
                                                 tile * S::k_keys, p.seq_kv, p.dim, p.vector_io);
  };
  const auto load_v = [&](int tile, int slot) {
    const int at = slot * S::k_stage_bytes + S::k_tile_bytes;
    load_rows<T, S::k_keys, S::DP, S::k_threads>(ring_at + at, ring + at, v, p.sv.row,
                                                 tile * S::k_keys, p.seq_kv, p.dim_v, p.vector_io);
  };

#if WB_PDL
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
#endif
  // Two groups a stage, K before V, so that scores start while V is still under way.
  load_rows<T, S::k_rows, S::DP, S::k_threads>(q_at, smem, q, p.sq.row, first_query, p.seq_q, p.dim,
                                               p.vector_io);
#pragma unroll
  for (int stage = 0; stage < S::STAGES; ++stage) {
    if (stage < tiles) load_k(stage, stage);
    cp_async_commit_group();
    if (stage < tiles) load_v(stage, stage);
    cp_async_commit_group();
  }
  cp_async_wait_group<2 * S::STAGES - 1>();
  __syncthreads();
  WarpState<S> w;
  start_rows<S>(w, q_at, warp_row, lane, p.negate);

  const int least_limit = min(p.seq_kv - 1, first_query + warp_row + p.causal_offset);
  int slot = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const uint32_t k_at = ring_at + slot * S::k_stage_bytes;
    const int first_key = tile * S::k_keys + warp_key;
    float s[S::MW][S::KW / 8][4];
    if (tile > 0) {
      cp_async_wait_group<2 * S::STAGES - 1>();
      __syncthreads();
    }
    score<S>(s, w, q_at, warp_row, k_at, warp_key, lane, p.negate);
    if (first_key + S::KW - 1 > least_limit) {
      mask_scores<S>(s, p, first_query + warp_row, first_key, lane);
    }
    softmax<S>(s, w, p.scale_log2);
    cp_async_wait_group<2 * S::STAGES - 2>();
    __syncthreads();  // every thread's part of V has landed, and K's readers are done
    if (tile + S::STAGES < tiles) load_k(tile + S::STAGES, slot);
    cp_async_commit_group();
    accumulate<S>(w, s, k_at + S::k_tile_bytes, warp_key, lane);
    if (tile + S::STAGES < tiles) {
      __syncthreads();  // V's readers are done
      load_v(tile + S::STAGES, slot);
    }
    cp_async_commit_group();
    if (++slot == S::STAGES) slot = 0;
  }

#pragma unroll
  for (int i = 0; i < S::MW; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      w.l[i][half] += __shfl_xor_sync(~0u, w.l[i][half], 1);
      w.l[i][half] += __shfl_xor_sync(~0u, w.l[i][half], 2);
    }
  }
  if constexpr (S::WN == 1) {
    __syncwarp();  // the warp's Q rows are read (there may have been no step since): O overlays
                   // them
    store_rows<S>(w, p, out, lse, q_at, smem, first_query, warp_row, lane);
  } else {
    cp_async_wait_group<0>();
    __syncthreads();  // the partials overlay the ring
    merge_rows<S>(w, p, out, lse, ring, first_query, warp_row, wn, lane);
  }
}

// ---- host ----------------------------------------------------------------------------------

using KernelPointer = void (*)(Params);

struct Entry {
  KernelPointer kernel;
  int rows, keys, threads, smem_bytes, blocks_per_sm;
};

template <class S>
Entry entry_of() {
  return {&mma_flash<S>, S::k_rows, S::k_keys, S::k_threads, S::k_smem_bytes, S::BPS};
}

constexpr int k_tiles = 6;

// From the finest grid to the coarsest. MW, WM, WN, KW, STAGES, blocks per SM.
template <typename T, int DP>
void fill_tiles(Entry (&table)[k_tiles]) {
  if constexpr (DP == 64) {
    table[0] = entry_of<Shape<T, DP, 1, 1, 4, 32, 2, 2>>();
    table[1] = entry_of<Shape<T, DP, 1, 1, 8, 32, 2, 1>>();
    table[2] = entry_of<Shape<T, DP, 1, 2, 4, 32, 2, 2>>();
    table[3] = entry_of<Shape<T, DP, 1, 4, 2, 64, 2, 2>>();
    table[4] = entry_of<Shape<T, DP, 1, 4, 1, 64, 2, 4>>();
    table[5] = entry_of<Shape<T, DP, 2, 4, 1, 64, 2, 2>>();
  } else if constexpr (DP == 128) {
    table[0] = entry_of<Shape<T, DP, 1, 1, 4, 32, 2, 1>>();
    table[1] = entry_of<Shape<T, DP, 1, 1, 8, 16, 2, 1>>();
    table[2] = entry_of<Shape<T, DP, 1, 2, 4, 32, 2, 1>>();
    table[3] = entry_of<Shape<T, DP, 1, 4, 2, 32, 2, 1>>();
    table[4] = entry_of<Shape<T, DP, 1, 4, 1, 64, 2, 2>>();
    table[5] = entry_of<Shape<T, DP, 1, 8, 1, 64, 2, 1>>();
  } else {
    table[0] = table[1] = entry_of<Shape<T, DP, 1, 1, 4, 16, 2, 1>>();
    table[2] = table[3] = table[4] = table[5] = entry_of<Shape<T, DP, 1, 4, 1, 32, 2, 1>>();
  }
}

template <typename T>
void fill_tiles(Entry (&table)[k_tiles], int64_t dim) {
  if (dim <= 64) return fill_tiles<T, 64>(table);
  if (dim <= 128) return fill_tiles<T, 128>(table);
  return fill_tiles<T, 256>(table);
}

// The finest tile whose blocks all run at once (two an SM at most); a coarse one where none does.
// 16 rows and 4 warps first for short keys, with 8 warps for longer ones: measured in
// docs/kernels.md.
int choose_tile(const Entry (&table)[k_tiles], int64_t heads, const wb_sdpa_problem& p,
                int sm_count) {
  if constexpr (WB_TILE >= 0) {
    return std::min(WB_TILE, k_tiles - 1);
  } else {
    const auto fits = [&](int i) {
      const int64_t blocks = heads * ((p.seq_q + table[i].rows - 1) / table[i].rows);
      return blocks <= int64_t(std::min(table[i].blocks_per_sm, 2)) * sm_count;
    };
    if (p.seq_kv > 128 && fits(1)) return 1;
    for (int i : {0, 2, 4}) {
      if (fits(i)) return i;
    }
    return std::max(p.dim, p.dim_v) <= 64 ? 5 : 4;
  }
}

}  // namespace

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  Params params;
  Entry entry;
  dim3 grid;
  bool early_start;
};

namespace {

bool rows_are_vectors(const wb_sdpa_problem& p) {
  return p.dim % 8 == 0 && p.dim_v % 8 == 0 && strides_divide_by(p.q, 8) &&
         strides_divide_by(p.k, 8) && strides_divide_by(p.v, 8) && strides_divide_by(p.out, 8);
}

int prepare(wb_sdpa_plan& plan) {
  const wb_sdpa_problem& p = plan.problem;
  int device = 0, sm_count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return fail_cuda("reading the device's attributes", error);

  Entry table[k_tiles];
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.dtype == WB_F16) {
    fill_tiles<__half>(table, dim);
  } else {
    fill_tiles<__nv_bfloat16>(table, dim);
  }
  const int64_t heads = p.batch * p.heads_q;
  const int tile = choose_tile(table, heads, p, sm_count);
  plan.entry = table[tile];
  // Blocks that start early take whatever SMs are free: even only while all of them are light.
  plan.early_start = WB_PDL == 2 || (WB_PDL == 1 && (tile <= 1 || (tile == 2 && p.seq_kv <= 128)));
  const int64_t row_blocks = (p.seq_q + plan.entry.rows - 1) / plan.entry.rows;
  if (row_blocks > 65535) return fail(WB_UNSUPPORTED, "sm80_mma_flash: too many query rows");
  plan.grid = dim3(unsigned(heads), unsigned(row_blocks));
  error = cudaFuncSetAttribute(plan.entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               plan.entry.smem_bytes);
  if (error != cudaSuccess) return fail_cuda("setting the kernel's attributes", error);

  Params& k = plan.params;
  k.sq = p.q;
  k.sk = p.k;
  k.sv = p.v;
  k.so = p.out;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim = int(p.dim);
  k.dim_v = int(p.dim_v);
  k.causal_offset = p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
                    : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                                     : int(p.seq_kv - p.seq_q);
  k.row_blocks = int(row_blocks);
  k.vector_io = rows_are_vectors(p);
  k.negate = p.scale < 0.0;
  // A zero scale becomes 2^-100: exp2 of any score is then 1, and -inf stays -inf.
  k.scale_log2 = std::max(float(std::fabs(p.scale) * 1.4426950408889634), 0x1p-100f);
  return WB_OK;
}

}  // namespace

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** out) {
  const int status = check_problem(problem, out);
  if (status != WB_OK) return status;
  const wb_sdpa_problem& p = *problem;
  if (p.dtype != WB_F16 && p.dtype != WB_BF16) {
    return fail(WB_UNSUPPORTED, "sm80_mma_flash: f16 and bf16 only");
  }
  if (p.mask != WB_MASK_NONE) return fail(WB_UNSUPPORTED, "sm80_mma_flash: no masks");
  if (p.dim > 256 || p.dim_v > 256) {
    return fail(WB_UNSUPPORTED, "sm80_mma_flash: head dims up to 256");
  }
  if (p.seq_q > (1 << 29) || p.seq_kv > (1 << 29) || p.batch * p.heads_q > (int64_t(1) << 31) - 1) {
    return fail(WB_UNSUPPORTED, "sm80_mma_flash: more rows, keys or heads than the grid holds");
  }
  wb_sdpa_plan* plan = new (std::nothrow) wb_sdpa_plan{};
  if (plan == nullptr) return fail(WB_FAILED, "plan_create: out of host memory");
  plan->problem = p;
  const int prepared = prepare(*plan);
  if (prepared != WB_OK) {
    delete plan;
    return prepared;
  }
  *out = plan;
  return WB_OK;
}

extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  Params params = plan->params;
  params.q = args->q;
  params.k = args->k;
  params.v = args->v;
  params.out = args->out;
  params.lse = plan->problem.want_lse ? args->lse : nullptr;
  cudaLaunchConfig_t config = {};
  config.gridDim = plan->grid;
  config.blockDim = dim3(unsigned(plan->entry.threads));
  config.dynamicSmemBytes = size_t(plan->entry.smem_bytes);
  config.stream = static_cast<cudaStream_t>(args->stream);
  cudaLaunchAttribute attribute;
  allow_early_start(config, &attribute, plan->early_start);
  const cudaError_t error = cudaLaunchKernelEx(&config, plan->entry.kernel, params);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching mma_flash", error);
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
