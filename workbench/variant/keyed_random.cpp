// SPDX-License-Identifier: MIT
#include "core/secret.hpp"
#include "variant/edge_draws.hpp"

namespace wb::variant {

KeyedRandom KeyedRandom::secret() {
  return KeyedRandom(draw_secret<std::uint64_t>());
}

std::uint32_t KeyedRandom::next() {
  if (m_used == m_words.size()) {
    m_words = problem::philox(static_cast<std::uint32_t>(m_key),
                              static_cast<std::uint32_t>(m_key >> 32), m_counter++);
    m_used = 0;
  }
  return m_words[m_used++];
}

std::int64_t KeyedRandom::below(std::int64_t n) {
  const std::uint64_t wide = (std::uint64_t{next()} << 32) | next();
  return static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(n));
}

double KeyedRandom::uniform() {
  return static_cast<double>(next()) * 0x1p-32;
}

}  // namespace wb::variant
