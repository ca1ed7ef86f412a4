// SPDX-License-Identifier: MIT
// One call of a CUDA variant under one of NVIDIA's tools: ncu reads the counters of its kernels,
// compute-sanitizer finds wrong accesses and races. The result is evidence: no timing, since the
// tools slow what they inspect, and no verdict, since they run inside the variant's process. The
// tools' output is read here too; it comes from a process that ran a variant, so it is untrusted
// (measure/ncu_report.hpp reads ncu's table). Used by the supervisor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/protocol.hpp"
#include "worker/child.hpp"
#include "worker/exercise.hpp"

namespace wb::worker {

/// Why ncu could not read the counters, with a remedy; nothing when it gives no such reason.
std::optional<std::string> why_ncu_is_blocked(std::string_view text);

struct SanitizerReport {
  bool finished = false;  ///< it printed its summary, without which nothing is known
  std::int64_t errors = 0, warnings = 0;
  std::vector<std::string> messages;  ///< the first line of each, at most k_most_messages
};
inline constexpr std::size_t k_most_messages = 20;

/// Reads the output of compute-sanitizer's memcheck, racecheck, initcheck or synccheck.
SanitizerReport read_sanitizer_report(std::string_view text);

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
