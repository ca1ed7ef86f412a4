// SPDX-License-Identifier: MIT
// Random small problems of every kind that a problem can be, for comparing GPU and CPU.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "problem/inputs.hpp"

namespace wb::testing {

inline std::int64_t random_size(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

inline problem::Draw random_draw(std::mt19937& random) {
  constexpr std::array<problem::Draw, 4> k_draws{problem::Draw::normal, problem::Draw::large,
                                                 problem::Draw::edge, problem::Draw::low};
  return k_draws[random() % k_draws.size()];
}

/// All dtypes, causal rules, masks and layouts; grouped heads; Dv beside D; single rows; sizes
/// that fill no tile.
inline problem::Problem random_problem(std::mt19937& random) {
  constexpr std::array<std::int64_t, 6> k_widths{1, 16, 17, 64, 80, 128};
  problem::Problem p;
  p.dtype = std::array{Dtype::f32, Dtype::f16, Dtype::bf16}[random() % 3];
  p.causal = std::array{problem::Causal::none, problem::Causal::top_left,
                        problem::Causal::bottom_right}[random() % 3];
  p.mask = std::array{problem::MaskKind::none, problem::MaskKind::boolean,
                      problem::MaskKind::additive}[random() % 3];
  if (p.mask == problem::MaskKind::boolean)
    p.keep_frac = 0.05 * static_cast<double>(random_size(random, 1, 20));
  if (p.mask == problem::MaskKind::additive && random() % 3 == 0)
    p.mask_values = problem::MaskValues::finite_min;
  const auto layout = [&] {
    return random() % 2 == 0 ? problem::Layout::bhsd : problem::Layout::bshd;
  };
  const problem::Layout q = layout();
  const bool is_mixed = random() % 3 == 0;
  problem::set_layouts(p, q, is_mixed ? layout() : q, is_mixed ? layout() : q);
  p.B = random_size(random, 1, 2);
  p.Hkv = random_size(random, 1, 2);
  p.Hq = p.Hkv * random_size(random, 1, 3);
  p.Sq = random() % 4 == 0 ? 1 : random_size(random, 1, 150);
  p.Skv = random() % 3 == 0 ? p.Sq : random_size(random, 1, 260);
  p.D = k_widths[random() % k_widths.size()];
  p.Dv = random() % 2 == 0 ? p.D : k_widths[random() % k_widths.size()];
  if (random() % 4 == 0) p.scale = 0.05 * static_cast<double>(random_size(random, 0, 10));
  return p;
}

}  // namespace wb::testing
