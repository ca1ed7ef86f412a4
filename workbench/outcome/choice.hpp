// SPDX-License-Identifier: MIT
// From the rows of a group to its choices. Private to the module outcome.
#pragma once

#include <string>
#include <vector>

#include "outcome/measured.hpp"
#include "outcome/outcome.hpp"

namespace wb::outcome {

/// What the choices of one group are made from.
struct Field {
  const Measured& measured;
  std::vector<const Row*> rows;    ///< by problem of the group
  const Row* objective = nullptr;  ///< the row of the suite; nullptr: none
  std::string rule;                ///< "geomean_speedup" outside the suite
};

/// The variants with a figure on the row: those that stand and are no rivals.
std::vector<std::string> variants_of(const Measured& measured, const Row& row);
/// The fastest standing rival beside the variant. Where a rival that was timed beside it has no
/// figure, that one may be the fastest: then the figure is undecided, unless it is slower anyway.
/// Sets `rival` and `over_rival`.
void set_rival(const Measured& measured, const Row& row, Standing& standing);

/// Fills standings, times, `single` and `by_problem`; problems have their names and weights.
void choose(const Field& field, Group& group);

/// What Choice::selection_bias says. `field` and `group` as in choose(), after it.
double selection_bias(const Field& field, const Group& group, const Choice& choice);

}  // namespace wb::outcome
