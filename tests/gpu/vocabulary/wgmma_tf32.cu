// SPDX-License-Identifier: MIT
// tf32x3.cuh of sm90_cluster_large_hdim on wgmma.cuh's descriptors: products of a warpgroup with A
// from registers. Would be seen: a wrong operand number, a fragment of A at the wrong columns, a
// stride or swizzle of B, a step that does not reach the next slab, one of the three parts left
// out.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/warpgroup.cuh"
#include "sm90_cluster_large_hdim/tf32x3.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_steps = 12, k_depth = 8 * k_steps;  // along K: three slabs of 32
constexpr int k_slabs = k_depth / 32;

// B's lines run along K; `low` lies behind `high`.
template <int Groups, bool Parts>
__global__ void __launch_bounds__(128) multiply(const float* a, const float* b, float* out) {
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
  run("wgmma_rs_tf32", multiply<Groups, Parts>, 1, 128, 2 * k_slabs * columns * 128, 1, a_in.data(),
      b_in.data(), out.data());
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
