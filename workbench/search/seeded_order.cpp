// SPDX-License-Identifier: MIT
#include "search/seeded_order.hpp"

#include <numeric>
#include <stdexcept>

namespace wb::search {
namespace {

constexpr std::uint64_t k_golden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: SplitMix64's step
constexpr std::uint64_t k_shuffled_max = 1u << 16;
constexpr std::uint64_t k_feistel_rounds = 6;

}  // namespace

std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t SeededRandom::next() {
  m_state += k_golden;
  return scramble(m_state);
}

std::uint64_t SeededRandom::below(std::uint64_t bound) {
  if (bound == 0) throw std::invalid_argument("SeededRandom: no number is below 0");
  // Rejects the lowest 2^64 mod bound values, which would favor some remainders.
  const std::uint64_t reject = (std::uint64_t{0} - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < reject) drawn = next();
  return drawn % bound;
}

double SeededRandom::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

SeededOrder::SeededOrder(std::uint64_t size, std::uint64_t seed) : m_size(size), m_seed(seed) {
  if (size <= k_shuffled_max) {
    m_shuffled.resize(size);
    std::iota(m_shuffled.begin(), m_shuffled.end(), std::uint16_t{0});
    SeededRandom(seed).shuffle(m_shuffled);
    return;
  }
  while (m_half_bits < 32 && (size - 1) >> (2 * m_half_bits) != 0) ++m_half_bits;
}

std::uint64_t SeededOrder::at(std::uint64_t position) const {
  if (position >= m_size) throw std::out_of_range("SeededOrder: beyond the last position");
  if (!m_shuffled.empty()) return m_shuffled[position];
  const std::uint64_t mask = (std::uint64_t{1} << m_half_bits) - 1;
  std::uint64_t value = position;
  do {  // at most four times on average: the network's range is below 4 * size
    std::uint64_t left = value >> m_half_bits, right = value & mask;
    for (std::uint64_t round = 0; round < k_feistel_rounds; ++round) {
      const std::uint64_t key = scramble(m_seed + (round + 1) * k_golden);
      const std::uint64_t mixed = left ^ (scramble(right ^ key) & mask);
      left = right;
      right = mixed;
    }
    value = left << m_half_bits | right;
  } while (value >= m_size);
  return value;
}

}  // namespace wb::search
