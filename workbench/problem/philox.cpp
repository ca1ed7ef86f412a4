// SPDX-License-Identifier: MIT
// Compiled with optimization in every build type (see CMakeLists.txt): inputs are refilled between
// timed replays, and debug builds judge too.
#include "problem/philox.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "problem/inputs.hpp"
#include "problem/isa.hpp"

namespace wb {
namespace {

constexpr std::uint32_t k_multiplier_0 = 0xD2511F53u;
constexpr std::uint32_t k_multiplier_1 = 0xCD9E8D57u;
constexpr std::uint32_t k_weyl_0 = 0x9E3779B9u;  // key increments: golden ratio, sqrt(3) - 1
constexpr std::uint32_t k_weyl_1 = 0xBB67AE85u;
constexpr int k_rounds = 10;
constexpr std::size_t k_counters = 32;              // per chunk
constexpr std::size_t k_elements = 2 * k_counters;  // per chunk

/// Word w of `k_counters` successive counters.
struct Words {
  alignas(64) std::uint32_t w[4][k_counters];
};

/// One round over all lanes. The loop has no dependence between lanes, so it becomes vector code.
WB_ALWAYS_INLINE void philox_round(Words& c, std::uint32_t key_0, std::uint32_t key_1) {
  for (std::size_t j = 0; j < k_counters; ++j) {
    const std::uint64_t product_0 = std::uint64_t{k_multiplier_0} * c.w[0][j];
    const std::uint64_t product_1 = std::uint64_t{k_multiplier_1} * c.w[2][j];
    const auto next_0 = static_cast<std::uint32_t>(product_1 >> 32) ^ c.w[1][j] ^ key_0;
    const auto next_2 = static_cast<std::uint32_t>(product_0 >> 32) ^ c.w[3][j] ^ key_1;
    c.w[0][j] = next_0;
    c.w[1][j] = static_cast<std::uint32_t>(product_1);
    c.w[2][j] = next_2;
    c.w[3][j] = static_cast<std::uint32_t>(product_0);
  }
}

WB_ALWAYS_INLINE void philox_chunk(PhiloxStream stream, std::uint64_t first_counter, Words& c) {
  for (std::size_t j = 0; j < k_counters; ++j) {
    const std::uint64_t counter = first_counter + j;
    c.w[0][j] = static_cast<std::uint32_t>(counter);
    c.w[1][j] = static_cast<std::uint32_t>(counter >> 32);
    c.w[2][j] = 0;
    c.w[3][j] = 0;
  }
  std::uint32_t key_0 = stream.seed;
  std::uint32_t key_1 = stream.tensor;
  for (int round = 0; round < k_rounds; ++round) {
    philox_round(c, key_0, key_1);
    key_0 += k_weyl_0;
    key_1 += k_weyl_1;
  }
}

WB_ALWAYS_INLINE float value_of_words(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = (a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16);
  return static_cast<float>(static_cast<std::int32_t>(sum) - 131070) * 0x1p-15f;
}

/// Element 2j takes words 0 and 1 of counter j, element 2j + 1 words 2 and 3.
WB_ALWAYS_INLINE void values_of(const Words& c, float factor, float (&out)[k_elements]) {
  for (std::size_t j = 0; j < k_counters; ++j) {
    out[2 * j] = factor * value_of_words(c.w[0][j], c.w[1][j]);
    out[2 * j + 1] = factor * value_of_words(c.w[2][j], c.w[3][j]);
  }
}

WB_ALWAYS_INLINE void first_words_of(const Words& c, std::uint32_t (&out)[k_elements]) {
  for (std::size_t j = 0; j < k_counters; ++j) {
    out[2 * j] = c.w[0][j];
    out[2 * j + 1] = c.w[2][j];
  }
}

/// Round to nearest even without branches, for |x| < 65504 and -inf: what draws hold.
WB_ALWAYS_INLINE std::uint16_t f16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Below 2^-14: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded by the addition.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x7f800000u ? 0x7c00u : result;
  return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000u));
}

WB_ALWAYS_INLINE std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

WB_ALWAYS_INLINE void store(const float (&values)[k_elements], std::size_t begin, std::size_t end,
                            Dtype dtype, std::byte* out) {
  if (dtype == Dtype::f32) {
    std::memcpy(out, values + begin, (end - begin) * sizeof(float));
    return;
  }
  std::uint16_t stored[k_elements];
  if (dtype == Dtype::f16) {
    for (std::size_t j = 0; j < k_elements; ++j) stored[j] = f16_of(values[j]);
  } else {
    for (std::size_t j = 0; j < k_elements; ++j) stored[j] = bf16_of(values[j]);
  }
  std::memcpy(out, stored + begin, (end - begin) * sizeof(std::uint16_t));
}

/// Calls body(words, begin, end, done) for each chunk of the run: elements [begin, end) of the
/// chunk are elements [done, ...) of the run.
template <typename Body>
WB_ALWAYS_INLINE void for_each_chunk(PhiloxStream stream, std::uint64_t first, std::size_t count,
                                     const Body& body) {
  Words words;
  std::size_t done = 0;
  std::size_t begin = first % 2;  // a run may start in the middle of a counter
  std::uint64_t counter = first / 2;
  while (done < count) {
    const std::size_t end = std::min(k_elements, begin + (count - done));
    philox_chunk(stream, counter, words);
    body(words, begin, end, done);
    done += end - begin;
    begin = 0;
    counter += k_counters;
  }
}

struct Values {
  float factor;
  Dtype dtype;
  std::byte* out;
  WB_ALWAYS_INLINE void run(PhiloxStream stream, std::uint64_t first, std::size_t count) const {
    const auto element = dtype == Dtype::f32 ? std::size_t{4} : std::size_t{2};
    for_each_chunk(stream, first, count,
                   [&](const Words& words, std::size_t begin, std::size_t end, std::size_t done)
                       WB_ALWAYS_INLINE_LAMBDA {
                         float values[k_elements];
                         values_of(words, factor, values);
                         store(values, begin, end, dtype, out + done * element);
                       });
  }
};

struct AdditiveMask {
  std::uint64_t threshold;
  Dtype dtype;
  std::byte* out;
  WB_ALWAYS_INLINE void run(PhiloxStream stream, std::uint64_t first, std::size_t count) const {
    const auto element = dtype == Dtype::f32 ? std::size_t{4} : std::size_t{2};
    for_each_chunk(stream, first, count,
                   [&](const Words& words, std::size_t begin, std::size_t end, std::size_t done)
                       WB_ALWAYS_INLINE_LAMBDA {
                         float values[k_elements];
                         std::uint32_t first_words[k_elements];
                         values_of(words, 1.0f, values);
                         first_words_of(words, first_words);
                         for (std::size_t j = 0; j < k_elements; ++j) {
                           if (first_words[j] >= threshold)
                             values[j] = -std::numeric_limits<float>::infinity();
                         }
                         store(values, begin, end, dtype, out + done * element);
                       });
  }
};

struct BoolMask {
  std::uint64_t threshold;
  std::byte* out;
  WB_ALWAYS_INLINE void run(PhiloxStream stream, std::uint64_t first, std::size_t count) const {
    for_each_chunk(stream, first, count,
                   [&](const Words& words, std::size_t begin, std::size_t end, std::size_t done)
                       WB_ALWAYS_INLINE_LAMBDA {
                         std::uint32_t first_words[k_elements];
                         std::byte kept[k_elements];
                         first_words_of(words, first_words);
                         for (std::size_t j = 0; j < k_elements; ++j) {
                           kept[j] = first_words[j] < threshold ? std::byte{1} : std::byte{0};
                         }
                         std::memcpy(out + done, kept + begin, end - begin);
                       });
  }
};

template <typename Filler>
void run_plain(const Filler& filler, PhiloxStream stream, std::uint64_t first, std::size_t count) {
  filler.run(stream, first, count);
}
template <typename Filler>
WB_TARGET_AVX2 void run_avx2(const Filler& filler, PhiloxStream stream, std::uint64_t first,
                             std::size_t count) {
  filler.run(stream, first, count);
}
template <typename Filler>
void run_best(const Filler& filler, PhiloxStream stream, std::uint64_t first, std::size_t count) {
  has_avx2() ? run_avx2(filler, stream, first, count) : run_plain(filler, stream, first, count);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  auto [c0, c1, c2, c3] = counter;
  for (int round = 0; round < k_rounds; ++round) {
    const std::uint64_t product_0 = std::uint64_t{k_multiplier_0} * c0;
    const std::uint64_t product_1 = std::uint64_t{k_multiplier_1} * c2;
    c0 = static_cast<std::uint32_t>(product_1 >> 32) ^ c1 ^ key[0];
    c1 = static_cast<std::uint32_t>(product_1);
    c2 = static_cast<std::uint32_t>(product_0 >> 32) ^ c3 ^ key[1];
    c3 = static_cast<std::uint32_t>(product_0);
    key[0] += k_weyl_0;
    key[1] += k_weyl_1;
  }
  return {c0, c1, c2, c3};
}

std::array<std::uint32_t, 4> philox(std::uint32_t seed, std::uint32_t tensor,
                                    std::uint64_t counter) {
  return philox4x32(
      {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0},
      {seed, tensor});
}

float element_value(std::uint32_t seed, Tensor tensor, std::uint64_t index) {
  const auto words = philox(seed, static_cast<std::uint32_t>(tensor), index / 2);
  const std::size_t at = 2 * (index % 2);
  return value_of_words(words[at], words[at + 1]);
}

std::uint64_t keep_threshold(double share) {
  return static_cast<std::uint64_t>(std::ceil(share * 4294967296.0));
}

void fill_values(PhiloxStream stream, std::uint64_t first, std::size_t count, float factor,
                 Dtype dtype, std::byte* out) {
  run_best(Values{factor, dtype, out}, stream, first, count);
}

void fill_additive_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                        std::uint64_t threshold, Dtype dtype, std::byte* out) {
  run_best(AdditiveMask{threshold, dtype, out}, stream, first, count);
}

void fill_bool_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                    std::uint64_t threshold, std::byte* out) {
  run_best(BoolMask{threshold, out}, stream, first, count);
}

}  // namespace wb
