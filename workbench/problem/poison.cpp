// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "problem/verdict.hpp"

namespace wb {
namespace {

constexpr std::uint64_t k_top_exponent_bits = 0x6000600060006000u;

/// Eight bytes of the pattern; `index` counts eights.
std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;  // splitmix64, random access
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) | k_top_exponent_bits;
}

}  // namespace

void Poison::fill(std::span<std::byte> bytes) const {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = pattern_word(seed, at / 8);
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

std::int64_t Poison::survivors(std::span<const std::byte> bytes, std::int64_t element_bytes) const {
  const auto element = static_cast<std::size_t>(element_bytes);
  std::int64_t count = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::size_t size = std::min<std::size_t>(8, bytes.size() - at);
    const std::uint64_t expected = pattern_word(seed, at / 8);
    std::uint64_t found = ~expected;
    std::memcpy(&found, bytes.data() + at, size);
    if (found == expected) {
      count += static_cast<std::int64_t>(size / element);
      continue;
    }
    const std::uint64_t difference = found ^ expected;
    for (std::size_t i = 0; i + element <= size; i += element) {
      std::uint64_t part = difference >> (8 * i);
      if (element < 8) part &= (std::uint64_t{1} << (8 * element)) - 1;
      count += part == 0 ? 1 : 0;
    }
  }
  return count;
}

}  // namespace wb
