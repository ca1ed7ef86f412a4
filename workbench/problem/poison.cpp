// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "problem/isa.hpp"
#include "problem/verdict.hpp"

namespace wb::problem {
namespace {

constexpr std::uint64_t k_top_exponent_bits = 0x6000600060006000u;
constexpr std::size_t k_words = 64;  ///< of the pattern, made and compared at a time

/// Eight bytes of the pattern; `index` counts groups of eight.
WB_ALWAYS_INLINE std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;  // splitmix64, random access
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) | k_top_exponent_bits;
}

/// Calls body(offset, size, pattern) for successive pieces of `bytes`.
template <typename Body>
WB_ALWAYS_INLINE void for_each_piece(std::uint64_t seed, std::size_t bytes, const Body& body) {
  std::uint64_t words[k_words];
  for (std::size_t at = 0; at < bytes; at += sizeof words) {
    for (std::size_t i = 0; i < k_words; ++i) words[i] = pattern_word(seed, at / 8 + i);
    body(at, std::min(sizeof words, bytes - at), reinterpret_cast<const std::byte*>(words));
  }
}

struct Filling {
  std::byte* to;
  WB_ALWAYS_INLINE void run(std::uint64_t seed, std::size_t bytes) const {
    for_each_piece(seed, bytes,
                   [&](std::size_t at, std::size_t size, const std::byte* pattern)
                       WB_ALWAYS_INLINE_LAMBDA { std::memcpy(to + at, pattern, size); });
  }
};

template <typename Element>
struct Counting {
  const std::byte* from;
  std::int64_t* survivors;
  WB_ALWAYS_INLINE void run(std::uint64_t seed, std::size_t bytes) const {
    for_each_piece(seed, bytes,
                   [&](std::size_t at, std::size_t size, const std::byte* pattern)
                       WB_ALWAYS_INLINE_LAMBDA {
                         Element count = 0;  // the width of the compared elements; a piece has few
                         for (std::size_t i = 0; i < size / sizeof(Element); ++i) {
                           Element found, expected;
                           std::memcpy(&found, from + at + i * sizeof found, sizeof found);
                           std::memcpy(&expected, pattern + i * sizeof found, sizeof found);
                           count = static_cast<Element>(count + (found == expected ? 1 : 0));
                         }
                         *survivors += count;
                       });
  }
};

template <typename Work>
void run_plain(const Work& work, std::uint64_t seed, std::size_t bytes) {
  work.run(seed, bytes);
}
/// AVX2 has no 64-bit product.
template <typename Work>
WB_TARGET_AVX512 void run_avx512(const Work& work, std::uint64_t seed, std::size_t bytes) {
  work.run(seed, bytes);
}
template <typename Work>
void run_best(const Work& work, std::uint64_t seed, std::size_t bytes) {
  widest_isa() == Isa::avx512 ? run_avx512(work, seed, bytes) : run_plain(work, seed, bytes);
}

}  // namespace

void Poison::fill(std::span<std::byte> bytes) const {
  run_best(Filling{bytes.data()}, seed, bytes.size());
}

std::int64_t Poison::survivors(std::span<const std::byte> bytes, std::int64_t element_bytes) const {
  std::int64_t count = 0;
  const auto count_as = [&]<typename Element>(Element) {
    run_best(Counting<Element>{bytes.data(), &count}, seed, bytes.size());
  };
  if (element_bytes == 2) {
    count_as(std::uint16_t{});
  } else if (element_bytes == 4) {
    count_as(std::uint32_t{});
  } else if (element_bytes == 8) {
    count_as(std::uint64_t{});
  } else {  // else poison would never be found, and an unwritten output would pass
    throw std::logic_error("Poison: no survivors are counted of elements of another size");
  }
  return count;
}

}  // namespace wb::problem
