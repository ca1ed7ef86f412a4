// SPDX-License-Identifier: MIT
// The role `exercise`: one call of a CUDA variant for an inspection tool, in a process that the
// tool starts. It is neither judged nor timed. inspection.cpp is the other side.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "problem/problem.hpp"

namespace wb::worker {

struct ExerciseOrder {
  std::string library, build_id;
  problem::Problem problem;
  int gpu = 0;      ///< CUDA ordinal
  fs::path folder;  ///< the only folder that the variant may write to
};
Json to_json(const ExerciseOrder& order);

/// Creates its context, confines itself, loads the variant and calls it twice outside and once
/// inside the range that ncu profiles. Its last line of output says how that ended. `text`: the
/// order. Returns the exit code.
int run_exercise(std::string_view text);

/// That line; an empty failure when the call finished.
std::string exercise_line(const std::optional<Failure>& failure);

/// How the call ended, by the last such line in the output of tool and variant; nothing without
/// one, when the process ended earlier. Any code in the process can print such a line, so it is no
/// verdict; but a process that ends early does not count as passed.
struct ExerciseEnd {
  std::optional<Failure> failure;  ///< constraints, runtime or environment
};
std::optional<ExerciseEnd> read_exercise_end(std::string_view printed);

}  // namespace wb::worker
