// SPDX-License-Identifier: MIT
// Suites: named lists of problems with weights, read from suites.json
// (docs/contracts/measurement.md). Wherever a suite is accepted, so is one problem text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// Short names for problems without a name in their suite. The full text is only in the problem
// table; elsewhere a name that fits into a table cell is used.

/// "B1_H8_S1x4096_D64_f32" for "B=1 Hq=8 Hkv=8 Sq=1 Skv=4096 D=64 f32 causal=none": equal sizes are
/// written once, defaults left out. Other text is returned unchanged.
std::string short_name(std::string_view text);

/// Elements of the output, B * Hq * Sq * Dv; nothing when the text is no problem.
std::optional<std::int64_t> output_elements(std::string_view text);

}  // namespace wb::problem
