// SPDX-License-Identifier: MIT
// wgmma.cuh, wgmma_widths.cuh and wgmma_gemms.cuh: O += P V with P from registers, or from
// shared memory for 256 columns, and V's lines along the columns. Would be seen: a wrong operand
// number or register order, a fragment of P at the wrong keys, V not transposed, a stride between
// slabs or steps of keys, a sum that starts anew.
#include "gpu/vocabulary/wgmma_tiles.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"

namespace wb::testing::vocabulary {

namespace {

// O += P V as sm90_wgmma_carry has it: by a descriptor that is moved on.
template <typename T, int First, int Last, int N, int M>
__device__ void gemm_pv_by_moving(float (&o)[N][4], const uint32_t (&prob)[M][4], uint64_t v) {
#pragma unroll
  for (int ks = First; ks < Last; ++ks) {
    wgmma_rs<T, N>(o, prob[ks], wgmma_descriptor_add(v, ks * (16 * 128)));
  }
}

// 64 rows of P, 16 M keys each, as the operand A in registers.
template <int M>
__device__ void take_fragments(uint32_t (&prob)[M][4], const uint16_t* p) {
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
#pragma unroll
  for (int ks = 0; ks < M; ++ks) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = 16 * ks + i / 2 * 8 + 2 * pair;
      prob[ks][i] = *reinterpret_cast<const uint32_t*>(p + (row + i % 2 * 8) * (16 * M) + key);
    }
  }
}

// In two groups, as the end of a tile has it; the tile of V lies behind one that is no number.
template <typename T, int N, int M, bool Moving>
__global__ void __launch_bounds__(128)
    gemm_pv_kernel(const uint16_t* p, const uint16_t* v, float* out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  constexpr int keys = 16 * M, columns = 8 * N;
  put_tile(smem + 8192, v, keys, columns);
  for (int e = threadIdx.x; e < 4096; e += 128) reinterpret_cast<uint16_t*>(smem)[e] = 0x7fff;
  fence_proxy_async_shared();
  __syncthreads();
  const uint32_t base = smem_address(smem);
  float o[N][4];
  uint32_t prob[M][4];
  put_start_values(o);
  take_fragments(prob, p);
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  if constexpr (Moving) {
    const uint64_t at = wgmma_descriptor_add(wgmma_descriptor_mn_major(base, keys * 128), 8192);
    gemm_pv_by_moving<T, 0, M / 2>(o, prob, at);
    wgmma_commit_group();
    gemm_pv_by_moving<T, M / 2, M>(o, prob, at);
  } else {
    gemm_pv<T, 0, M / 2>(o, prob, base + 8192);
    wgmma_commit_group();
    gemm_pv<T, M / 2, M>(o, prob, base + 8192);
  }
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(o);
  fence_operands(prob);
  take_out(out, o);
}

// Chunks of 16 keys whose eight slabs of 64 columns lie together, as sm90_wgmma_wide loads V;
// block 0 has the first 256 columns, block 1 the others. P from shared memory, or from registers.
constexpr int k_chunks = 4, k_slab = 16 * 128, k_chunk = 8 * k_slab;

template <typename T, bool Registers>
__global__ void __launch_bounds__(128)
    gemm_pv_wide_kernel(const uint16_t* p, const uint16_t* v, float* out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  put_tile(smem, p, 64, 16 * k_chunks);
  unsigned char* v_tile = smem + tile_bytes(64, 16 * k_chunks);
  for (int chunk = 0; chunk < k_chunks; ++chunk) {
    put_tile(v_tile + chunk * k_chunk, v + chunk * 16 * 512, 16, 512);
  }
  fence_proxy_async_shared();
  __syncthreads();
  const uint32_t p_at = smem_address(smem), v_at = smem_address(v_tile);
  float o[32][4];
  uint32_t prob[k_chunks][4];
  put_start_values(o);
  take_fragments(prob, p);
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
#pragma unroll
  for (int chunk = 0; chunk < k_chunks; ++chunk) {
    const uint64_t b =
        wgmma_descriptor_mn_major(v_at + chunk * k_chunk + blockIdx.x * 4 * k_slab, k_slab);
    if constexpr (Registers) {
      wgmma_rs<T, 32>(o, prob[chunk], b);
    } else {
      wgmma_ss_mn_256<T>(o, wgmma_descriptor_k_major(p_at + chunk * 32), b);
    }
    wgmma_commit_group();
  }
  wgmma_wait_group<0>();
  fence_operands(o);
  fence_operands(prob);
  take_out(out + blockIdx.x * (64 * 256), o);
}

template <typename T>
float product(const Whole<T>& p, const Whole<T>& v, int row, int column) {
  float sum = 0.0f;
  for (int key = 0; key < p.columns; ++key) sum += p.at(row, key) * v.at(key, column);
  return sum;
}

template <typename T, int N, int M, bool Moving>
std::string outputs_of() {
  constexpr int keys = 16 * M, columns = 8 * N;
  const Whole<T> p(64, keys, 3), v(keys, columns, 4);
  const DeviceArray<uint16_t> p_bits(p.bits()), v_bits(v.bits());
  const DeviceArray<float> out(64 * columns);
  run("wgmma_rs", gemm_pv_kernel<T, N, M, Moving>, 1, 128, 8192 + tile_bytes(keys, columns), 1,
      p_bits.data(), v_bits.data(), out.data());
  std::vector<float> wanted(64 * columns);
  for (int i = 0; i < 64 * columns; ++i) {
    const int row = i / columns, column = i % columns;
    wanted[i] = start_value(row, column) + product(p, v, row, column);
  }
  return difference(std::string(name_of<T>()) + " m64n" + std::to_string(columns) + " over " +
                        std::to_string(keys) + " keys" + (Moving ? ", moved" : ""),
                    out.host(), wanted, columns);
}

template <typename T, bool Registers>
std::string wide_outputs_of() {
  const Whole<T> p(64, 16 * k_chunks, 5), v(16 * k_chunks, 512, 6);
  const DeviceArray<uint16_t> p_bits(p.bits()), v_bits(v.bits());
  const DeviceArray<float> out(2 * 64 * 256);
  run("wgmma of 256 columns", gemm_pv_wide_kernel<T, Registers>, 2, 128,
      tile_bytes(64, 16 * k_chunks) + k_chunks * k_chunk, 1, p_bits.data(), v_bits.data(),
      out.data());
  std::vector<float> wanted(2 * 64 * 256);
  for (int i = 0; i < 2 * 64 * 256; ++i) {
    const int half = i / (64 * 256), row = i / 256 % 64, column = i % 256;
    wanted[i] = start_value(row, column) + product(p, v, row, half * 256 + column);
  }
  return difference(std::string(name_of<T>()) + (Registers ? " rs" : " ss") + ", V in chunks",
                    out.host(), wanted, 256);
}

template <typename T>
std::string outputs_of_type() {
  for (const std::string& wrong :
       {outputs_of<T, 8, 8, false>(), outputs_of<T, 8, 4, true>(), outputs_of<T, 9, 8, true>(),
        outputs_of<T, 10, 8, true>(), outputs_of<T, 11, 5, true>(), outputs_of<T, 12, 8, true>(),
        outputs_of<T, 16, 8, false>(), outputs_of<T, 16, 10, true>(), outputs_of<T, 20, 7, false>(),
        outputs_of<T, 24, 7, true>(), outputs_of<T, 32, 5, false>(),
        outputs_of<T, 32, 5, true>()}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string outputs_of_every_width() {
  const std::string wrong = outputs_of_type<__half>();
  return wrong.empty() ? outputs_of_type<__nv_bfloat16>() : wrong;
}

std::string outputs_with_a_from_shared_memory() {
  for (const std::string& wrong :
       {wide_outputs_of<__half, false>(), wide_outputs_of<__half, true>(),
        wide_outputs_of<__nv_bfloat16, false>(), wide_outputs_of<__nv_bfloat16, true>()}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace wb::testing::vocabulary
