// SPDX-License-Identifier: MIT
// mma.cuh, and mma.sync of tf32x3.cuh. Would be seen: registers of a fragment in another order,
// a transposition too many or too few, halves of a pair swapped, rounding other than to the nearest
// even, a product that does not add to what is there.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90_cluster_large_hdim/tf32x3.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_line = 24;  // elements from row to row of a 16x16 matrix: 48 bytes

// Of one warp: ldmatrix, its transposing form and movmatrix, as registers of the lanes.
__global__ void take_fragments(const uint16_t* from, uint32_t* out) {
  __shared__ alignas(16) uint16_t matrix[16 * k_line];
  const int lane = threadIdx.x;
  for (int e = lane; e < 16 * k_line; e += 32) {
    matrix[e] = e % k_line < 16 ? from[e / k_line * 16 + e % k_line] : uint16_t(0x7fff);
  }
  __syncwarp();
  const uint32_t at = smem_address(matrix + lane % 16 * k_line + lane / 16 * 8);
  uint32_t r[4], t[4];
  ldmatrix_x4(r, at);
  ldmatrix_x4_trans(t, at);
  for (int i = 0; i < 4; ++i) {
    out[(lane * 3) * 4 + i] = r[i];
    out[(lane * 3 + 1) * 4 + i] = t[i];
    out[(lane * 3 + 2) * 4 + i] = movmatrix_trans(r[i]);
  }
}

// C + A B of one warp, all operands taken from memory by the layouts in mma.cuh.
template <typename T>
__global__ void multiply(const uint16_t* a, const uint16_t* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto pair = [](uint16_t low, uint16_t high) { return low | uint32_t(high) << 16; };
  uint32_t fa[4], fb[2];
  for (int i = 0; i < 4; ++i) {
    const uint16_t* at = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    fa[i] = pair(at[0], at[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const uint16_t* at = b + (2 * t + 8 * i) * 8 + g;
    fb[i] = pair(at[0], at[8]);
  }
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
  mma_m16n8k16<T>(d, fa, fb[0], fb[1]);
  mma_m16n8k16<T>(d, fa, fb[0], fb[1]);
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

__global__ void multiply_tf32(const float* a, const float* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  uint32_t fa[4], fb[2];
  for (int i = 0; i < 4; ++i) fa[i] = __float_as_uint(a[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
  for (int i = 0; i < 2; ++i) fb[i] = __float_as_uint(b[(t + 4 * i) * 8 + g]);
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
  mma_m16n8k8_tf32(d, fa, fb[0], fb[1]);
  mma_m16n8k8_tf32(d, fa, fb[0], fb[1]);
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

template <typename T>
__global__ void pack(const float* from, uint32_t* out, int pairs) {
  const int i = threadIdx.x;
  if (i < pairs) out[i] = pack2<T>(from[2 * i], from[2 * i + 1]);
}

__global__ void raise(const float* from, float* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = ex2(from[i]);
}

// C + 2 A B, 16 x depth by depth x 8.
std::vector<float> twice(const std::vector<float>& a, const std::vector<float>& b,
                         std::vector<float> c, int depth) {
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      for (int k = 0; k < depth; ++k) {
        c[row * 8 + column] += 2.0f * a[row * depth + k] * b[k * 8 + column];
      }
    }
  }
  return c;
}

std::vector<float> numbers(int count, uint32_t seed, int range) {
  std::vector<float> v(count);
  for (int i = 0; i < count; ++i) v[i] = number_of(uint32_t(i) + seed, range);
  return v;
}

template <typename T>
std::string products_of() {
  const std::vector<float> a = numbers(256, 100, 50), b = numbers(128, 900, 50);
  const std::vector<float> c = numbers(128, 5000, 1000);
  std::vector<uint16_t> a_bits, b_bits;
  for (const float x : a) a_bits.push_back(bits_of<T>(x));
  for (const float x : b) b_bits.push_back(bits_of<T>(x));
  const DeviceArray<uint16_t> a_in(a_bits), b_in(b_bits);
  const DeviceArray<float> d(c);
  run("mma_m16n8k16", multiply<T>, 1, 32, 0, 1, a_in.data(), b_in.data(), d.data());
  return difference(std::string("mma of ") + name_of<T>(), d.host(), twice(a, b, c, 16), 8);
}

// Both halves of a pair differ, and so do their neighbours.
template <typename T>
std::string packing_of() {
  const float tie = std::is_same_v<T, __half> ? 1.0f / 2048 : 1.0f / 256;  // half a unit at 1
  const std::vector<float> from = {1.0f,        -2.5f,      1.0f + tie,  1.0f + 3 * tie,
                                   -1.0f - tie, 1.0f / 3,   -1.0f / 7,   1e-3f,
                                   0.0f,        -0.0f,      INFINITY,    -INFINITY,
                                   65504.0f,    1e-7f,      3.14159265f, -123.456f,
                                   1.9999999f,  -0.999999f, 6e-5f,       1.0f + 1.001f * tie};
  const int pairs = int(from.size()) / 2;
  const DeviceArray<float> in(from);
  const DeviceArray<uint32_t> out(pairs);
  run("pack2", pack<T>, 1, 32, 0, 1, in.data(), out.data(), pairs);
  std::vector<uint32_t> wanted(pairs);
  for (int i = 0; i < pairs; ++i) {
    wanted[i] = bits_of<T>(from[2 * i]) | uint32_t(bits_of<T>(from[2 * i + 1])) << 16;
  }
  return difference(std::string("pack2 of ") + name_of<T>(), out.host(), wanted, pairs);
}

}  // namespace

std::string fragments_lie_as_the_manual_draws() {
  std::vector<uint16_t> matrix(256);
  for (int i = 0; i < 256; ++i) matrix[i] = word_of(uint32_t(i));
  const DeviceArray<uint16_t> in(matrix);
  const DeviceArray<uint32_t> out(32 * 12);
  run("ldmatrix", take_fragments, 1, 32, 0, 1, in.data(), out.data());
  std::vector<uint32_t> wanted(32 * 12);
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      // matrix i of 8x8: rows from top on, columns from left on
      const int top = i % 2 * 8, left = i / 2 * 8;
      const auto at = [&](int row, int column) {
        return uint32_t(matrix[(top + row) * 16 + left + column]);
      };
      const uint32_t transposed = at(2 * t, g) | at(2 * t + 1, g) << 16;
      wanted[lane * 12 + i] = at(g, 2 * t) | at(g, 2 * t + 1) << 16;
      wanted[lane * 12 + 4 + i] = transposed;
      wanted[lane * 12 + 8 + i] = transposed;
    }
  }
  return difference("lane", out.host(), wanted, 12);
}

std::string warp_products() {
  for (const std::string& wrong : {products_of<__half>(), products_of<__nv_bfloat16>()}) {
    if (!wrong.empty()) return wrong;
  }
  const std::vector<float> a = numbers(128, 300, 200), b = numbers(64, 700, 200);
  const std::vector<float> c = numbers(128, 6000, 1000);
  const DeviceArray<float> a_in(a), b_in(b), d(c);
  run("mma_m16n8k8_tf32", multiply_tf32, 1, 32, 0, 1, a_in.data(), b_in.data(), d.data());
  return difference("mma of tf32", d.host(), twice(a, b, c, 8), 8);
}

std::string packing_and_powers() {
  for (const std::string& wrong : {packing_of<__half>(), packing_of<__nv_bfloat16>()}) {
    if (!wrong.empty()) return wrong;
  }
  std::vector<float> from = {0.0f, -0.0f, -INFINITY, -150.0f, 1.0f, -1.0f, 127.0f, -126.0f};
  for (int i = -400; i <= 400; ++i) from.push_back(i * 0.0713f);
  const DeviceArray<float> in(from), out(from.size());
  run("ex2", raise, 1, 128, 0, 1, in.data(), out.data(), int(from.size()));
  std::vector<float> wanted;
  for (const float x : from) wanted.push_back(float(x < -140.0f ? 0.0 : std::exp2(double(x))));
  return difference("ex2", out.host(), wanted, 1, 0.0, 0x1p-20);
}

}  // namespace wb::testing::vocabulary
