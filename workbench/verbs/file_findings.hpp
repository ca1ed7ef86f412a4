// SPDX-License-Identifier: MIT
// Findings from files without a session (a table of times, Nsight Compute's report, a disassembly),
// for `analyze` and `diagnose`.
#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "measure/finding.hpp"

namespace wb::verbs {

struct Call;  // verb.hpp

/// Errors: usage (an option without its file, or files beside a session, which would otherwise be
/// ignored silently).
Result<void> check_analyze_arguments(const Json& args, bool has_session);
/// True when the call names files and so needs no session. Errors: those of
/// check_analyze_arguments(); usage (in a playbook, which cannot read files; together with an
/// iteration).
Result<bool> reads_files(const Call& call);

struct FileFindings {
  device::Device device;
  std::string subject;                     ///< the subject of the times or launches; empty: none
  std::vector<problem::Problem> problems;  ///< of the times and launches, without duplicates
  std::vector<measure::Finding> findings;
  std::vector<std::string> gaps;  ///< what could not be read, and why
};
/// The findings of the analyses on the files. Errors: usage (a device that is not in the table, a
/// profile without its problem), not_found and io (a file), parse and invalid (a file's content).
Result<FileFindings> findings_of_files(const FileSystem& files, const Json& args);
/// The answer of `analyze`. Errors: those of findings_of_files().
Result<Json> analyze_files(const FileSystem& files, const Json& args);

}  // namespace wb::verbs
