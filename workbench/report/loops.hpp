// SPDX-License-Identifier: MIT
// `sdpa-wb loops`: the loops of two variants beside each other (grid, who walks what, pros, cons,
// use case) with the figures of both where a session measured them beside each other.
#pragma once

#include <string>
#include <vector>

#include "catalogue/loops.hpp"
#include "session/view.hpp"

namespace wb::report {

struct LoopSide {
  std::string name;  ///< a variant's label or kernel name, or the family's id
  const catalogue::LoopFamily* family = nullptr;  ///< nullptr: its techniques tell none
  bool is_variant = true;
};

/// Two sides as columns. `view`: the session to take figures from; nullptr: none was named.
std::string render_loops(const LoopSide& one, const LoopSide& other,
                         const session::SessionView* view);

/// All families, each with the kernels that are of it.
std::string render_loop_families(const std::vector<catalogue::LoopFamily>& families,
                                 const std::vector<LoopSide>& kernels);

}  // namespace wb::report
