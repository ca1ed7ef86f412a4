// SPDX-License-Identifier: MIT
// Suites: named lists of problems with weights, read from suites.json
// (docs/contracts/measurement.md). Wherever a suite is accepted, so is one problem text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "problem/problem.hpp"

namespace wb::problem {

struct SuiteProblem {
  Problem problem;
  double weight = 1.0;    ///< used by weighted objectives, > 0
  bool held_out = false;  ///< measured at confirmation only
  /// The share of this problem in the profiled program's time, in (0, 1].
  std::optional<double> share_frac = {};
};

struct Suite {
  std::string name;
  std::string about;
  std::vector<SuiteProblem> problems;
};

/// The problems without held-out ones.
std::vector<Problem> plain_problems(const Suite& suite);

/// All suites of one file. Errors: not_found, parse, invalid (duplicate names or an invalid
/// problem; the message names suite and problem).
Result<std::map<std::string, Suite>> load_suites(const FileSystem& file_system,
                                                 const fs::path& path);

/// A suite made of one problem; its name is "problem".
Suite suite_of(const Problem& problem);

}  // namespace wb::problem
