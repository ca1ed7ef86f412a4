// SPDX-License-Identifier: MIT
// Problems of the workbench from a profile's attention: each call as a problem, which findings
// offer for measurement, and all of them as a suite (`trace suite`), so that a session optimizes
// what the program runs and its report can state the end-to-end effect.
#pragma once

#include <string>
#include <vector>

#include "problem/problem.hpp"
#include "problem/suite.hpp"
#include "trace/op_rows.hpp"
#include "trace/op_sizes.hpp"

namespace wb::trace {

struct ProblemOrWhy {
  std::optional<problem::Problem> problem;
  std::string why;  ///< why it cannot be a problem
};

/// Backward, masks, dropout, sequences of different lengths, windows, pages and unsupported dtypes
/// cannot be problems.
ProblemOrWhy problem_of(const OpRule& rule, const AttentionSizes& sizes);

struct MadeSuite {
  /// Weights are calls in the profile; shares are of its GPU span, from the first start to the last
  /// end of work that its operators launched.
  problem::Suite suite;
  struct LeftOut {
    std::string name, why;
    double share_frac = 0;
    std::uint64_t calls = 0, kernels = 0;
    double kernel_ms = 0;
  };
  std::vector<LeftOut> left_out;
  double gpu_span_ms = 0;
};

/// Equal problems are merged. Errors: those of read_trace(); invalid (no forward attention that can
/// be a problem; the message lists what there is).
Result<MadeSuite> make_suite(const fs::path& trace, std::string name);

/// The text of a suites.json with this suite.
std::string suite_file(const problem::Suite& suite);

}  // namespace wb::trace
