// SPDX-License-Identifier: MIT
// wgmma.cuh, wgmma_widths.cuh and wgmma_gemms.cuh: S = Q K^T with both operands from shared
// memory, in the widths and over the columns that kernels use. Would be seen: a wrong operand
// number or register order, a stride or swizzle of a descriptor, a slab or a step of 16 columns
// left out or taken twice, a transposed operand, the first product added to what was there, an
// answer read before its group is done.
#include "gpu/vocabulary/wgmma_tiles.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"

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
        scores_of<T, 10, 80, true>(), scores_of<T, 14, 160, false>(), scores_of<T, 14, 192, true>(),
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

}  // namespace wb::testing::vocabulary
