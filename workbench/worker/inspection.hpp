// SPDX-License-Identifier: MIT
// One call of a CUDA variant under one of NVIDIA's tools: ncu reads the counters of the kernels
// that it launches, compute-sanitizer looks for wrong accesses and races. Evidence, never a timed
// figure: the tools change what they look at. Nor a verdict: they look from inside the variant's
// process. Who calls: the supervisor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/protocol.hpp"
#include "worker/child.hpp"
#include "worker/exercise.hpp"

namespace wb::worker {

struct InspectionTask {
  std::string tool;         ///< one of protocol::k_inspection_tools
  fs::path program;         ///< the tool's; empty: find_inspection_program()
  std::string own_program;  ///< plays the role `exercise`
  fs::path folder;          ///< for the tool's report, out of the variant's reach
  ExerciseOrder order;      ///< its folder, below `folder`, is made here
};

/// The arguments of the tool around the call.
std::vector<std::string> inspection_command(const InspectionTask& task);
/// Where the tool's report goes.
fs::path report_path(const InspectionTask& task);

/// "ncu" or "compute-sanitizer" beside nvcc or in PATH. Errors: not_found.
Result<fs::path> find_inspection_program(std::string_view tool);

/// Not available: why stands in the result, nobody is to blame. Failures: constraints (the variant
/// refuses the problem), runtime (the call failed, or never came to its end), timeout, environment.
Outcome<protocol::ProfileResult> inspect(Family& family, const InspectionTask& task,
                                         Deadline deadline, CancelSource cancel);

}  // namespace wb::worker
