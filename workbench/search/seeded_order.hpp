// SPDX-License-Identifier: MIT
// Random numbers and orders that depend on the seed alone on every machine; the standard library
// does not specify its distributions. Used by strategies and simulations.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace wb::search {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection on 64 bits without a visible
/// relation between input and output.
std::uint64_t scramble(std::uint64_t value);

/// SplitMix64.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : m_state(scramble(seed)) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  ///< each of 0 … bound - 1 equally; bound >= 1
  double uniform();                          ///< in [0, 1), 53 bits
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t m_state;
};

/// An order of 0 … size - 1 that needs no memory for large sizes: shuffled up to 2^16; above, a
/// six-round Feistel network applied until its result is in range.
class SeededOrder {
 public:
  SeededOrder(std::uint64_t size, std::uint64_t seed);
  [[nodiscard]] std::uint64_t size() const { return m_size; }
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const;  ///< throws std::out_of_range

 private:
  std::uint64_t m_size, m_seed;
  unsigned m_half_bits = 0;
  std::vector<std::uint16_t> m_shuffled;
};

}  // namespace wb::search
