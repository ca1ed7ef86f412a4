// SPDX-License-Identifier: MIT
// The verb `audit`: sessions held against their logs, any other report held against itself. Used by
// the engine's table and dispatch.
#pragma once

#include "audit/finding.hpp"
#include "engine/context.hpp"

namespace wb::engine {

std::vector<VerbSpec> audit_verb_specs();
/// `folder`: of --session, empty without. Errors: usage (nothing named), not_found, invalid (a
/// folder that is no session), limit, parse (no text), damaged (a log's chain).
Result<Json> verb_audit(const Services& services, const Json& args, const fs::path& folder);

/// A report repaired and taken apart; `output` takes the repaired text. Errors: invalid (a folder,
/// or an output that is there already), not_found, limit, parse (no text), io.
Result<Json> verb_import_report(const Services& services, const Json& args);

/// What was held against the log of one session.
struct SessionAudit {
  std::string name;
  std::int64_t events = 0;                        ///< whose chain holds
  std::size_t figures = 0;                        ///< of the report, made again from the log
  std::size_t pages = 0, blobs = 0, commits = 0;  ///< checked
  std::vector<std::string> files;                 ///< by finding: in which file its line is
  std::vector<audit::Finding> findings;
  std::vector<std::string> gaps;  ///< what could not be checked, and why
  void add(std::string file, audit::Finding finding);
};
/// Errors: damaged (chain or a payload), too_new, not_found, io.
Result<SessionAudit> audit_session(const Services& services, const fs::path& folder);

}  // namespace wb::engine
