// SPDX-License-Identifier: MIT
// What files say without a session (a table of times, Nsight Compute's report, a disassembly): for
// `analyze` and `diagnose`.
#pragma once

#include <string>
#include <vector>

#include "engine/call.hpp"
#include "measure/finding.hpp"

namespace wb::verbs {

/// Errors: usage (an option without its file, files beside a session: they would be passed over in
/// silence).
Result<void> check_analyze_arguments(const Json& args, bool has_session);
/// Whether the call names files, and so no session. Errors: those of check_analyze_arguments();
/// usage (in a playbook, which reads none; together with an iteration, which files have not).
Result<bool> reads_files(const engine::Call& call);

struct FileFindings {
  device::Device device;
  std::string subject;                     ///< whose times or launches the files hold; empty: none
  std::vector<problem::Problem> problems;  ///< of its times and launches, each once
  std::vector<measure::Finding> findings;
  std::vector<std::string> gaps;  ///< what could not be read, and why
};
/// What the analyses say of the files. Errors: usage (a device that is not in the table, a profile
/// without its problem), not_found and io (a file), parse and invalid (what a file holds).
Result<FileFindings> findings_of_files(const FileSystem& files, const Json& args);
/// The answer of `analyze`. Errors: those of findings_of_files().
Result<Json> analyze_files(const FileSystem& files, const Json& args);

}  // namespace wb::verbs
