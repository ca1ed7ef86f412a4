// SPDX-License-Identifier: MIT
// The drawn runs of a verdict (docs/contracts/measurement.md): small problems and forms of calls,
// drawn from all that a manifest claims, combinations first. The host draws them from the kernel's
// random numbers, so that a variant can neither know them in advance nor infer one from another.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "problem/call_form.hpp"
#include "variant/edge_sizes.hpp"
#include "variant/manifest.hpp"

namespace wb::variant {

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
