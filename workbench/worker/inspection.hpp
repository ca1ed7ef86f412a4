// SPDX-License-Identifier: MIT
// One call of a CUDA variant under one of NVIDIA's tools: ncu reads the counters of the kernels
// that it launches, compute-sanitizer looks for wrong accesses and races. Evidence, never a timed
// figure: the tools change what they look at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/protocol.hpp"
#include "worker/child.hpp"

namespace wb::worker {

struct InspectionTask {
  std::string tool;         ///< one of protocol::k_inspection_tools
  fs::path program;         ///< the tool's; empty: find_inspection_program()
  std::string own_program;  ///< plays the role `exercise`
  std::string library, build_id;
  Problem problem;
  int gpu = 0;       ///< CUDA ordinal
  fs::path scratch;  ///< all that tool and variant may write to
};

/// The arguments of the tool around the call; the report goes to `report`.
std::vector<std::string> inspection_command(const InspectionTask& task, const fs::path& report);

/// "ncu" or "compute-sanitizer" beside nvcc or in PATH. Errors: not_found.
Result<fs::path> find_inspection_program(std::string_view tool);

/// Not available: why stands in the result, nobody is to blame. Failures: constraints (the variant
/// refuses the problem), runtime (the call failed, with the variant's words), timeout, environment.
Outcome<protocol::ProfileResult> inspect(Family& family, const InspectionTask& task,
                                         Deadline deadline, CancelSource cancel);

/// The role `exercise`: argv[2] is gpu_argument(), argv[3] the order as JSON. Makes its context,
/// confines itself, then loads the variant and calls it twice outside and once inside the range
/// that ncu profiles. Returns the exit code; what went wrong is on stderr.
int run_exercise(int gpu, std::string_view order);

}  // namespace wb::worker
