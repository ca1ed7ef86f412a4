// SPDX-License-Identifier: MIT
// The drawn runs of a verdict (docs/contracts/measurement.md): small problems and forms of calls,
// drawn from all that a manifest claims, combinations first. The host draws them from the kernel's
// random numbers, so that a variant can neither know them in advance nor infer one from another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "problem/call_form.hpp"
#include "variant/manifest.hpp"

namespace wb::variant {

/// Random numbers from Philox with a 64-bit key.
class KeyedRandom {
 public:
  explicit KeyedRandom(std::uint64_t key) : m_key(key) {}
  /// With a key from the kernel. Throws std::runtime_error when none is available.
  static KeyedRandom secret();

  std::uint32_t next();
  /// From 0 to n - 1; n at least 1.
  std::int64_t below(std::int64_t n);
  /// From least to most, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + below(most - least + 1);
  }
  double uniform();
  bool chance(double share) { return uniform() < share; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

 private:
  std::uint64_t m_key, m_counter = 0;
  std::array<std::uint32_t, 4> m_words{};
  std::size_t m_used = 4;
};

struct EdgeDraw {
  problem::Problem problem;
  problem::Draw draw = problem::Draw::normal;
  problem::CallForm form;
  bool want_lse = true;
};

struct EdgeTerms {
  const Manifest& manifest;
  /// True when the variant claims the problem, restrictions of its configuration included.
  std::function<bool(const problem::Problem&)> takes;
  std::vector<problem::Problem> near;  ///< its main problems: a part of the draws has their dims
  std::size_t count = 0;
};

/// Default numbers of runs: of a verdict, of a screening, and of a Python subject on a GPU, which
/// may compile each shape.
inline constexpr std::size_t k_edge_draws = 72, k_screening_draws = 16, k_jit_draws = 16;
inline constexpr std::size_t k_most_edge_draws = 100'000;

/// `count` runs, or fewer when the claims are so narrow that no more were found.
std::vector<EdgeDraw> draw_edges(const EdgeTerms& terms, KeyedRandom& random);

}  // namespace wb::variant
