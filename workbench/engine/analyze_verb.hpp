// SPDX-License-Identifier: MIT
// Private to engine: the verb `analyze`, which explains what was measured before: a session's log,
// or files (a table of times, Nsight Compute's report, a disassembly). Nothing is run or logged.
#pragma once

#include "engine/context.hpp"
#include "engine/verb.hpp"
#include "measure/finding.hpp"

namespace wb::engine {

VerbSpec analyze_verb_spec();

/// Whether files are named, which need no session.
bool asks_for_files(const Json& args);

/// Errors: usage (an option without its file, files beside a session: they would be passed over in
/// silence).
Result<void> check_analyze_arguments(const Json& args, bool has_session);

struct FileFindings {
  device::Device device;
  std::string subject;                     ///< whose times or launches the files hold; empty: none
  std::vector<problem::Problem> problems;  ///< of its times and launches, each once
  std::vector<measure::Finding> findings;
  std::vector<std::string> gaps;  ///< what could not be read, and why
};
/// What the analyses say of the files. Errors: those of verb_analyze_files().
Result<FileFindings> findings_of_files(const FileSystem& files, const Json& args);

/// Errors: usage (a device that is not in the table, a profile without its problem), not_found and
/// io (a file), parse and invalid (what a file holds).
Result<Json> verb_analyze_files(const FileSystem& files, const Json& args);
Json verb_analyze_session(const session::SessionView& view);

}  // namespace wb::engine
