// SPDX-License-Identifier: MIT
// Sentences of a session's pages held against what came of the session: what they recommend, call
// lost, blame, count, price and advise.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "outcome/outcome.hpp"
#include "session/view.hpp"
#include "verbs/audit_session.hpp"

namespace wb::verbs {

/// What came of a session, as its pages have to say it.
struct Concluded {
  explicit Concluded(const session::SessionView& seen, std::vector<std::string> known_losers = {});
  const session::SessionView& view;  ///< with the causes that `diagnose` decides; outlives this
  outcome::Outcome made;
  std::vector<std::string> losers;  ///< techniques and ideas that are known to lose here
  std::set<std::int64_t> helped;    ///< iterations whose hypothesis was confirmed
};

/// The name of this check in findings.
inline constexpr const char* k_conclusions_check = "conclusions";

/// A sentence that is contradicted becomes a finding of this severity. Reads the report of two
/// pages, the whole report, handovers and briefs, also those of older versions. What was held
/// counts in SessionAudit::sentences.
void check_conclusions(const std::string& file, const std::string& page, const Concluded& concluded,
                       audit::Severity severity, SessionAudit& audited);

}  // namespace wb::verbs
