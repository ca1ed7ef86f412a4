// SPDX-License-Identifier: MIT
// Inputs from a seed on the device, with the same bits as make_inputs on the host: one thread per
// Philox counter makes two elements, placed by their index in BHSD order. Also the poison of an
// output.
#include "worker/cuda/device/numbers.cuh"

namespace wb::worker::cuda::device {
namespace {

struct Words {
  std::uint32_t w[4];
};

/// Philox4x32-10 with key (seed, tensor) and counter (low, high, 0, 0).
__device__ Words philox(std::uint32_t seed, std::uint32_t tensor, std::uint64_t counter) {
  Words c{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xD2511F53u} * c.w[0];
    const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57u} * c.w[2];
    c = {{static_cast<std::uint32_t>(product_1 >> 32) ^ c.w[1] ^ seed,
          static_cast<std::uint32_t>(product_1),
          static_cast<std::uint32_t>(product_0 >> 32) ^ c.w[3] ^ tensor,
          static_cast<std::uint32_t>(product_0)}};
    seed += 0x9E3779B9u;  // the key of the next round
    tensor += 0xBB67AE85u;
  }
  return c;
}

/// Exact in f32: the sum of four 16-bit halves, centered, times 2^-15.
__device__ float value_of(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = (a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16);
  return static_cast<float>(static_cast<std::int32_t>(sum) - 131070) * 0x1p-15f;
}

__device__ void fill_element(const FillParams& p, std::int64_t index, std::uint32_t first,
                             std::uint32_t second) {
  const std::int64_t column = index % p.width;
  const std::int64_t row = index / p.width % p.rows;
  const std::int64_t head = index / p.width / p.rows % p.heads;
  const std::int64_t batch = index / p.width / p.rows / p.heads;
  const std::int64_t at =
      batch * p.strides.batch + head * p.strides.head + row * p.strides.row + column;
  const bool is_kept = first < p.keep_below && row != p.edge_row;
  if (p.mask == MaskForm::boolean) {
    static_cast<std::uint8_t*>(p.to)[at] = is_kept ? 1 : 0;
    return;
  }
  const bool is_value = p.mask == MaskForm::none || is_kept;
  float value = is_value ? p.factor * value_of(first, second) : p.rejected;
  if (p.sign != 0) value = p.sign * fabsf(value);
  store(p.number, p.to, at, value);
}

}  // namespace

extern "C" __global__ void wb_fill_tensor(const FillParams p) {
  const std::int64_t counters = (p.elements + 1) / 2;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t counter = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       counter < counters; counter += step) {
    const Words c = philox(p.seed, p.tensor, static_cast<std::uint64_t>(counter));
    fill_element(p, 2 * counter, c.w[0], c.w[1]);
    if (2 * counter + 1 < p.elements) fill_element(p, 2 * counter + 1, c.w[2], c.w[3]);
  }
}

extern "C" __global__ void wb_fill_poison(const PoisonParams p) {
  const std::int64_t words = (p.bytes + 7) / 8;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    const std::uint64_t word = poison_word(p.seed, static_cast<std::uint64_t>(i));
    if (8 * i + 8 <= p.bytes) {
      reinterpret_cast<std::uint64_t*>(p.to)[i] = word;  // tensors are 256-byte aligned
      continue;
    }
    for (std::int64_t at = 8 * i; at < p.bytes; ++at) {
      p.to[at] = static_cast<std::uint8_t>(word >> (8 * (at % 8)));
    }
  }
}

}  // namespace wb::worker::cuda::device
