// SPDX-License-Identifier: MIT
// From the attention of a profile to problems of the workbench: what `trace suite` lists and what a
// finding offers to be measured again.
#pragma once

#include <string>

#include "problem/problem.hpp"
#include "trace/op_sizes.hpp"

namespace wb::trace {

struct ProblemOrWhy {
  std::optional<problem::Problem> problem;
  std::string why;  ///< it cannot be one
};

/// Backward, masks, dropout, sequences of different lengths, windows, pages and dtypes that the
/// workbench lacks cannot be problems.
ProblemOrWhy problem_of(const OpRule& rule, const AttentionSizes& sizes);

}  // namespace wb::trace
