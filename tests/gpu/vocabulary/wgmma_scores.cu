// SPDX-License-Identifier: MIT
// wgmma.cuh, wgmma_widths.cuh and wgmma_gemms.cuh: S = Q K^T with both operands from shared
// memory, in the widths and over the columns that kernels use. Would be seen: a wrong operand
// number or register order, a stride or swizzle of a descriptor, a slab or a step of 16 columns
// left out or taken twice, a transposed operand, the first product added to what was there, an
// answer read before its group is done.
#include "gpu/vocabulary/wgmma_tiles.cuh"
#include "sm90/warpgroup.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"
#include "sm90_cluster_large_hdim/tf32x3.cuh"

namespace wb::testing::vocabulary {

namespace {

// The scores of sm90_wgmma_carry: by two descriptors that are moved on.
template <typename T, int Cols, int N>
__device__ void score_by_moving(float (&s)[N][4], uint64_t q, uint64_t k) {
#pragma unroll
  for (int ks = 0; ks < Cols / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<T, N>(s, wgmma_descriptor_add(q, ks / 4 * (64 * 128) + column),
                   wgmma_descriptor_add(k, ks / 4 * (8 * N * 128) + column), ks > 0);
  }
}

// Two tiles of K one after the other, as groups that are waited for one by one. Moving: from
// descriptors of the start of shared memory.
template <typename T, int N, int Cols, bool Moving>
__global__ void __launch_bounds__(128) multiply(const uint16_t* q, const uint16_t* k, float* out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  constexpr int keys = 8 * N, q_bytes = tile_bytes(64, Cols), k_bytes = tile_bytes(keys, Cols);
  put_tile(smem, k, keys, Cols);
  put_tile(smem + k_bytes, q, 64, Cols);
  put_tile(smem + k_bytes + q_bytes, k + keys * Cols, keys, Cols);
  fence_proxy_async_shared();
  __syncthreads();
  const uint32_t base = smem_address(smem);
  float s[2][N][4];
#pragma unroll
  for (int i = 0; i < 2; ++i) put_start_values(s[i]);
  fence_operands(s[0]);
  fence_operands(s[1]);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32_t k_at = i * (k_bytes + q_bytes);
    if constexpr (Moving) {
      const uint64_t start = wgmma_descriptor_k_major(base);
      score_by_moving<T, Cols>(s[i], wgmma_descriptor_add(start, k_bytes),
                               wgmma_descriptor_add(start, k_at));
    } else {
      gemm_qk<T, Cols>(s[i], base + k_bytes, base + k_at);
    }
    wgmma_commit_group();
  }
  wgmma_wait_group<1>();
  fence_operands(s[0]);
  take_out(out, s[0]);
  wgmma_wait_group<0>();
  fence_operands(s[1]);
  take_out(out + 64 * keys, s[1]);
}

template <typename T, int N, int Cols, bool Moving>
std::string scores_of() {
  constexpr int keys = 8 * N;
  const Whole<T> q(64, Cols, 1), k(2 * keys, Cols, 2);
  const DeviceArray<uint16_t> q_bits(q.bits()), k_bits(k.bits());
  const DeviceArray<float> out(2 * 64 * keys);
  const int smem_bytes = tile_bytes(64, Cols) + 2 * tile_bytes(keys, Cols);
  run("wgmma_ss", multiply<T, N, Cols, Moving>, 1, 128, smem_bytes, 1, q_bits.data(), k_bits.data(),
      out.data());
  std::vector<float> wanted(2 * 64 * keys);
  for (int i = 0; i < 2; ++i) {
    for (int row = 0; row < 64; ++row) {
      for (int key = 0; key < keys; ++key) {
        float sum = 0.0f;
        for (int c = 0; c < Cols; ++c) sum += q.at(row, c) * k.at(i * keys + key, c);
        wanted[(i * 64 + row) * keys + key] = sum;
      }
    }
  }
  return difference(std::string(name_of<T>()) + " m64n" + std::to_string(keys) + " over " +
                        std::to_string(Cols) + " columns" + (Moving ? ", moved" : ""),
                    out.host(), wanted, keys);
}

template <typename T>
std::string scores_of_type() {
  for (const std::string& wrong :
       {scores_of<T, 8, 64, false>(), scores_of<T, 8, 128, true>(), scores_of<T, 10, 256, false>(),
        scores_of<T, 10, 80, true>(), scores_of<T, 12, 80, false>(), scores_of<T, 12, 96, true>(),
        scores_of<T, 14, 160, false>(), scores_of<T, 14, 192, true>(),
        scores_of<T, 16, 128, false>(), scores_of<T, 16, 96, true>(),
        scores_of<T, 20, 128, false>(), scores_of<T, 20, 64, true>()}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string scores_of_every_width() {
  const std::string wrong = scores_of_type<__half>();
  return wrong.empty() ? scores_of_type<__nv_bfloat16>() : wrong;
}

// tf32x3.cuh of sm90_cluster_large_hdim on wgmma.cuh's descriptors: products of a warpgroup with A
// from registers. Would be seen: a wrong operand number, a fragment of A at the wrong columns, a
// stride or swizzle of B, a step that does not reach the next slab, one of the three parts left
// out.

namespace {

constexpr int k_steps = 12, k_depth = 8 * k_steps;  // along K: three slabs of 32
constexpr int k_slabs = k_depth / 32;

// B's lines run along K; `low` lies behind `high`.
template <int Groups, bool Parts>
__global__ void __launch_bounds__(128) multiply_tf32(const float* a, const float* b, float* out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  constexpr int rows = 8 * Groups, slab = rows * 128, all = k_slabs * slab;
  for (int e = threadIdx.x; e < rows * k_depth; e += 128) {
    const int row = e / k_depth, column = e % k_depth, unit = column % 32 / 4;
    const int at = column / 32 * slab + row * 128 + ((unit ^ (row % 8)) * 16) + column % 4 * 4;
    const uint32_t x = __float_as_uint(b[e]);
    *reinterpret_cast<uint32_t*>(smem + at) = Parts ? tf32_high(x) : x;
    *reinterpret_cast<uint32_t*>(smem + all + at) = Parts ? tf32_low(x) : 0x7fc00000u;
  }
  fence_proxy_async_shared();
  __syncthreads();
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
  Split fragments[k_steps];
#pragma unroll
  for (int i = 0; i < k_steps; ++i) {
    uint32_t x[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      x[c] = __float_as_uint(a[(row + c % 2 * 8) * k_depth + 8 * i + pair + c / 2 * 4]);
    }
    fragments[i] = Split(x);
  }
  float d[Groups][4];
#pragma unroll
  for (int n = 0; n < Groups; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) d[n][c] = 1000.0f;  // the first product starts anew
  }
  const uint64_t high = wgmma_descriptor_k_major(smem_address(smem));
  fence_operands(d);
  fence_operands(fragments);
  wgmma_fence();
  if constexpr (Parts) {
    wgmma_sums<k_steps>(d, fragments, high, wgmma_descriptor_add(high, all), slab);
  } else {
#pragma unroll
    for (int i = 0; i < k_steps; ++i) {
      wgmma_rs_tf32<Groups>(d, fragments[i].high, slab_step(high, i, slab), i > 0);
    }
  }
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(d);
  fence_operands(fragments);
#pragma unroll
  for (int n = 0; n < Groups; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      out[(row + c / 2 * 8) * rows + 8 * n + 2 * pair + c % 2] = d[n][c];
    }
  }
}

// Whole numbers exactly; with Parts fractions, which one tf32 product alone would miss by 1e-3.
template <int Groups, bool Parts>
std::string products_of() {
  constexpr int columns = 8 * Groups;
  std::vector<float> a(64 * k_depth), b(columns * k_depth);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = Parts ? number_of(uint32_t(i), 4000) / 4099.0f : number_of(uint32_t(i), 100);
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    const uint32_t index = uint32_t(i) + 500000u;
    b[i] = Parts ? number_of(index, 4000) / 4091.0f : number_of(index, 100);
  }
  const DeviceArray<float> a_in(a), b_in(b), out(64 * columns);
  run("wgmma_rs_tf32", multiply_tf32<Groups, Parts>, 1, 128, 2 * k_slabs * columns * 128, 1,
      a_in.data(), b_in.data(), out.data());
  std::vector<float> wanted(64 * columns);
  for (int i = 0; i < 64 * columns; ++i) {
    double sum = 0.0;
    for (int k = 0; k < k_depth; ++k) {
      sum += double(a[i / columns * k_depth + k]) * double(b[i % columns * k_depth + k]);
    }
    wanted[i] = float(sum);
  }
  return difference("tf32 m64n" + std::to_string(columns) + (Parts ? " in three parts" : ""),
                    out.host(), wanted, columns, Parts ? 1e-4 : 0.0);
}

}  // namespace

std::string tf32_products_of_every_width() {
  for (const std::string& wrong : {products_of<1, false>(), products_of<2, false>(),
                                   products_of<4, false>(), products_of<8, false>()}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string tf32_products_in_three_parts() {
  for (const std::string& wrong :
       {products_of<1, true>(), products_of<4, true>(), products_of<8, true>()}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace wb::testing::vocabulary
