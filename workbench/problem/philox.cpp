// SPDX-License-Identifier: MIT
// Compiled with optimization in every build type (see CMakeLists.txt): inputs are refilled between
// timed replays, and debug builds judge too.
#include "problem/philox.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "problem/inputs.hpp"

namespace wb::problem {
namespace {

constexpr std::uint32_t k_multiplier_0 = 0xD2511F53u;
constexpr std::uint32_t k_multiplier_1 = 0xCD9E8D57u;
constexpr std::uint32_t k_weyl_0 = 0x9E3779B9u;  // key increments: golden ratio, sqrt(3) - 1
constexpr std::uint32_t k_weyl_1 = 0xBB67AE85u;
constexpr int k_rounds = 10;
constexpr std::size_t k_counters = 32;              // per chunk
constexpr std::size_t k_elements = 2 * k_counters;  // per chunk

/// The two words of each element of a chunk, in order of the elements.
struct Words {
  alignas(64) std::uint32_t first[k_elements], second[k_elements];
};

/// Words of successive counters, one in the low half of each lane. The high halves are ignored, so
/// that a whole product is the next word.
template <int k_bytes>
struct LanesOf {
  using Type [[gnu::vector_size(k_bytes)]] = std::uint64_t;
};

// Product of the low halves, for each instruction set's lanes.
WB_ALWAYS_INLINE void multiply(LanesOf<16>::Type& lanes, std::uint32_t factor) {
  lanes = (lanes & 0xffffffffu) * factor;
}
#if defined(__x86_64__)
WB_TARGET_AVX2 inline void multiply(LanesOf<32>::Type& lanes, std::uint32_t factor) {
  const auto product =
      _mm256_mul_epu32(reinterpret_cast<__m256i>(lanes), _mm256_set1_epi64x(factor));
  lanes = reinterpret_cast<LanesOf<32>::Type>(product);
}
WB_TARGET_AVX512 inline void multiply(LanesOf<64>::Type& lanes, std::uint32_t factor) {
  const auto product =
      _mm512_mul_epu32(reinterpret_cast<__m512i>(lanes), _mm512_set1_epi64(factor));
  lanes = reinterpret_cast<LanesOf<64>::Type>(product);
}
#endif

/// Element 2j takes words 0 and 1 of counter j, element 2j + 1 words 2 and 3: two lanes side by
/// side in a lane of the result.
template <typename Lanes>
WB_ALWAYS_INLINE void store_pairs(const Lanes& even, const Lanes& odd, std::uint32_t* to) {
  const Lanes pairs = (even & 0xffffffffu) | (odd << 32);
  std::memcpy(to, &pairs, sizeof pairs);
}

template <int k_bytes>
WB_ALWAYS_INLINE void philox_chunk(PhiloxStream stream, std::uint64_t first_counter, Words& words) {
  using Lanes = typename LanesOf<k_bytes>::Type;
  constexpr std::size_t k_lanes = sizeof(Lanes) / sizeof(std::uint64_t);
  constexpr std::size_t k_at_once = 2;  // hides the latency of multiplications
  static_assert(k_counters % (k_at_once * k_lanes) == 0);
  for (std::size_t group = 0; group < k_counters; group += k_at_once * k_lanes) {
    Lanes c[k_at_once][4] = {};
    for (std::size_t j = 0; j < k_at_once * k_lanes; ++j) {
      c[j / k_lanes][0][j % k_lanes] = first_counter + group + j;
    }
    for (auto& of : c) of[1] = of[0] >> 32;
    std::uint32_t key_0 = stream.seed;
    std::uint32_t key_1 = stream.tensor;
    for (int round = 0; round < k_rounds; ++round) {
      for (auto& of : c) {
        Lanes product_0 = of[0], product_1 = of[2];
        multiply(product_0, k_multiplier_0);
        multiply(product_1, k_multiplier_1);
        of[0] = (product_1 >> 32) ^ of[1] ^ key_0;
        of[1] = product_1;
        of[2] = (product_0 >> 32) ^ of[3] ^ key_1;
        of[3] = product_0;
      }
      key_0 += k_weyl_0;
      key_1 += k_weyl_1;
    }
    for (std::size_t i = 0; i < k_at_once; ++i) {
      const std::size_t at = 2 * (group + i * k_lanes);
      store_pairs(c[i][0], c[i][2], words.first + at);
      store_pairs(c[i][1], c[i][3], words.second + at);
    }
  }
}

WB_ALWAYS_INLINE float value_of_words(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = (a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16);
  return static_cast<float>(static_cast<std::int32_t>(sum) - 131070) * 0x1p-15f;
}

WB_ALWAYS_INLINE void values_of(const Words& words, float factor, float (&out)[k_elements]) {
  for (std::size_t j = 0; j < k_elements; ++j) {
    out[j] = factor * value_of_words(words.first[j], words.second[j]);
  }
}

/// Rounds to nearest even without branches, for |x| <= 65504 and -inf, the range of draws.
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
template <int k_bytes, typename Body>
WB_ALWAYS_INLINE void for_each_chunk(PhiloxStream stream, std::uint64_t first, std::size_t count,
                                     const Body& body) {
  Words words;
  std::size_t done = 0;
  std::size_t begin = first % 2;  // a run may start in the middle of a counter
  std::uint64_t counter = first / 2;
  while (done < count) {
    const std::size_t end = std::min(k_elements, begin + (count - done));
    philox_chunk<k_bytes>(stream, counter, words);
    body(words, begin, end, done);
    done += end - begin;
    begin = 0;
    counter += k_counters;
  }
}

struct Values {
  float factor;
  int sign;
  Dtype dtype;
  std::byte* out;
  template <int k_bytes>
  WB_ALWAYS_INLINE void run(PhiloxStream stream, std::uint64_t first, std::size_t count) const {
    const auto element = dtype == Dtype::f32 ? std::size_t{4} : std::size_t{2};
    for_each_chunk<k_bytes>(stream, first, count,
                            [&](const Words& words, std::size_t begin, std::size_t end,
                                std::size_t done) WB_ALWAYS_INLINE_LAMBDA {
                              float values[k_elements];
                              values_of(words, factor, values);
                              if (sign != 0) {
                                for (float& value : values) {
                                  value = static_cast<float>(sign) * std::abs(value);
                                }
                              }
                              store(values, begin, end, dtype, out + done * element);
                            });
  }
};

struct AdditiveMask {
  std::uint64_t threshold;
  float rejected;
  Dtype dtype;
  std::byte* out;
  template <int k_bytes>
  WB_ALWAYS_INLINE void run(PhiloxStream stream, std::uint64_t first, std::size_t count) const {
    const auto element = dtype == Dtype::f32 ? std::size_t{4} : std::size_t{2};
    for_each_chunk<k_bytes>(stream, first, count,
                            [&](const Words& words, std::size_t begin, std::size_t end,
                                std::size_t done) WB_ALWAYS_INLINE_LAMBDA {
                              float values[k_elements];
                              values_of(words, 1.0f, values);
                              for (std::size_t j = 0; j < k_elements; ++j) {
                                if (words.first[j] >= threshold) values[j] = rejected;
                              }
                              store(values, begin, end, dtype, out + done * element);
                            });
  }
};

struct BoolMask {
  std::uint64_t threshold;
  std::byte* out;
  template <int k_bytes>
  WB_ALWAYS_INLINE void run(PhiloxStream stream, std::uint64_t first, std::size_t count) const {
    for_each_chunk<k_bytes>(stream, first, count,
                            [&](const Words& words, std::size_t begin, std::size_t end,
                                std::size_t done) WB_ALWAYS_INLINE_LAMBDA {
                              std::byte kept[k_elements];
                              for (std::size_t j = 0; j < k_elements; ++j) {
                                kept[j] = words.first[j] < threshold ? std::byte{1} : std::byte{0};
                              }
                              std::memcpy(out + done, kept + begin, end - begin);
                            });
  }
};

template <typename Filler>
void run_plain(const Filler& filler, PhiloxStream stream, std::uint64_t first, std::size_t count) {
  filler.template run<16>(stream, first, count);
}
#if defined(__x86_64__)
template <typename Filler>
WB_TARGET_AVX2 void run_avx2(const Filler& filler, PhiloxStream stream, std::uint64_t first,
                             std::size_t count) {
  filler.template run<32>(stream, first, count);
}
template <typename Filler>
WB_TARGET_AVX512 void run_avx512(const Filler& filler, PhiloxStream stream, std::uint64_t first,
                                 std::size_t count) {
  filler.template run<64>(stream, first, count);
}
#endif
template <typename Filler>
void run_for(Isa isa, const Filler& filler, PhiloxStream stream, std::uint64_t first,
             std::size_t count) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return run_avx512(filler, stream, first, count);
  if (isa == Isa::avx2) return run_avx2(filler, stream, first, count);
#endif
  static_cast<void>(isa);
  run_plain(filler, stream, first, count);
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
                 int sign, Dtype dtype, std::byte* out, Isa isa) {
  run_for(isa, Values{factor, sign, dtype, out}, stream, first, count);
}

void fill_additive_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                        std::uint64_t threshold, float rejected, Dtype dtype, std::byte* out,
                        Isa isa) {
  run_for(isa, AdditiveMask{threshold, rejected, dtype, out}, stream, first, count);
}

void fill_bool_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                    std::uint64_t threshold, std::byte* out, Isa isa) {
  run_for(isa, BoolMask{threshold, out}, stream, first, count);
}

}  // namespace wb::problem
