// SPDX-License-Identifier: MIT
// The role `exercise`: one call of a CUDA variant for a tool to look at, in a process that the tool
// starts. Nothing is judged and nothing timed here. The other side is inspection.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/files.hpp"
#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "problem/problem.hpp"

namespace wb::worker {

struct ExerciseOrder {
  std::string library, build_id;
  problem::Problem problem;
  int gpu = 0;      ///< CUDA ordinal
  fs::path folder;  ///< all that the variant may write to
};
Json to_json(const ExerciseOrder& order);

/// Makes its context, confines itself, then loads the variant and calls it twice outside and once
/// inside the range that ncu profiles. How that ended is the last line that it prints. `text`: the
/// order. Returns the exit code.
int run_exercise(std::string_view text);

/// That line: an empty failure when the call came to its end.
std::string exercise_line(const std::optional<Failure>& failure);

/// How the call ended, by the last such line in what tool and variant printed; nothing where there
/// is none: the process did not come so far. Anyone in the process can print one, so it is no
/// verdict; but who ends the process early has not passed by chance.
struct ExerciseEnd {
  std::optional<Failure> failure;  ///< constraints, runtime or environment
};
std::optional<ExerciseEnd> read_exercise_end(std::string_view printed);

}  // namespace wb::worker
