// SPDX-License-Identifier: MIT
// Checks one session against its log, for `audit`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "audit/finding.hpp"
#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::engine {
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

struct SessionAudit {
  std::string name;
  std::int64_t events = 0;    ///< events with an intact chain
  std::size_t figures = 0;    ///< of the report, computed again from the log
  std::size_t sentences = 0;  ///< of pages, held against what came of the session
  std::size_t pages = 0, blobs = 0, commits = 0;  ///< checked
  std::vector<std::string> files;                 ///< by finding: the file of its line
  std::vector<audit::Finding> findings;
  std::vector<std::string> gaps;  ///< what could not be checked, and why
  void add(std::string file, audit::Finding finding);
};
/// Errors: damaged (chain or a payload), too_new, not_found, io.
Result<SessionAudit> audit_session(const engine::Services& services, const fs::path& folder);

/// Name and text.
using NamedPage = std::pair<std::string, std::string>;
/// Only the sentences of pages that somebody named, against what came of that session. Errors as
/// above.
Result<SessionAudit> audit_sentences(const engine::Services& services, const fs::path& folder,
                                     const std::vector<NamedPage>& pages);

}  // namespace wb::verbs
