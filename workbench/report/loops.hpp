// SPDX-License-Identifier: MIT
// `sdpa-wb loops`: compares how two variants divide the work (grid, loops, pros, cons, use case),
// with figures of both if a session measured them side by side.
#pragma once

#include <string>
#include <vector>

#include "catalogue/loops.hpp"
#include "session/view.hpp"

namespace wb::report {

struct LoopSide {
  std::string name;  ///< a variant's label or kernel name, or the family's id
  const catalogue::LoopFamily* family = nullptr;  ///< nullptr: its techniques match no family
  bool is_variant = true;
};

/// Two sides as columns. `view`: the session with the figures; nullptr: none was named.
std::string render_loops(const LoopSide& one, const LoopSide& other,
                         const session::SessionView* view);

/// Both loops as pseudo-code, the slow one first; empty where a family is not known.
std::string loop_change(const LoopSide& problem, const LoopSide& cure);

/// All families, each with its kernels.
std::string render_loop_families(const std::vector<catalogue::LoopFamily>& families,
                                 const std::vector<LoopSide>& kernels);

}  // namespace wb::report
