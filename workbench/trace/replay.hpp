// SPDX-License-Identifier: MIT
// Converts the attention of a profile to problems of the workbench, which `trace suite` lists and
// findings offer for measurement.
#pragma once

#include <string>

#include "problem/problem.hpp"
#include "trace/op_sizes.hpp"

namespace wb::trace {

struct ProblemOrWhy {
  std::optional<problem::Problem> problem;
  std::string why;  ///< why it cannot be a problem
};

/// Backward, masks, dropout, sequences of different lengths, windows, pages and unsupported dtypes
/// cannot be problems.
ProblemOrWhy problem_of(const OpRule& rule, const AttentionSizes& sizes);

}  // namespace wb::trace
