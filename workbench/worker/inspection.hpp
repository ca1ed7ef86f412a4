// SPDX-License-Identifier: MIT
// One call of a CUDA variant under one of NVIDIA's tools: ncu reads the counters of its kernels,
// compute-sanitizer finds wrong accesses and races. The result is evidence: no timing, since the
// tools slow what they inspect, and no verdict, since they run inside the variant's process. Used
// by the supervisor.
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
  fs::path program;         ///< path of the tool; empty: find_inspection_program()
  std::string own_program;  ///< runs the role `exercise`
  fs::path folder;          ///< for the tool's report, inaccessible to the variant
  ExerciseOrder order;      ///< its folder, below `folder`, is created
};

/// The command line of the tool around the call.
std::vector<std::string> inspection_command(const InspectionTask& task);
/// The path of the tool's report.
fs::path report_path(const InspectionTask& task);

/// "ncu" or "compute-sanitizer" beside nvcc or in PATH. Errors: not_found.
Result<fs::path> find_inspection_program(std::string_view tool);

/// When the tool is not available, the result says why. Failures: constraints (the variant refuses
/// the problem), runtime (the call failed or did not finish), timeout, environment.
Outcome<protocol::ProfileResult> inspect(ChildRegistry& registry, const InspectionTask& task,
                                         Deadline deadline, CancelSource cancel);

}  // namespace wb::worker
