// SPDX-License-Identifier: MIT
// `trace suite`: makes a suite from a profile's forward attention, so that a session optimizes what
// the program runs and its report can state the end-to-end effect.
#pragma once

#include <string>
#include <vector>

#include "problem/suite.hpp"
#include "trace/op_rows.hpp"

namespace wb::trace {

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
