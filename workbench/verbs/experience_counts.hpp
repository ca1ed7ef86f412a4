// SPDX-License-Identifier: MIT
// Counts of techniques and causes over all sessions, for `experience`.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "advise/roadmap.hpp"
#include "core/json.hpp"
#include "session/session.hpp"
#include "session/view.hpp"

namespace wb::verbs {

/// One technique over all sessions.
struct TechniqueCounts {
  std::int64_t tried = 0, won = 0, invalid = 0;
  std::set<std::string> sessions;
  std::vector<advise::PastPrediction> predictions;
  Json where = Json::array();  ///< session, iteration, event, outcome, speedup
};

/// One cause over all sessions, by the last causes_decided of each.
struct CauseCounts {
  std::int64_t supported = 0, refuted = 0, undecided = 0;
};

struct Experience {
  std::map<std::string, TechniqueCounts> techniques;
  std::map<std::string, CauseCounts> causes;
  std::vector<advise::PastPrediction> predictions;  ///< from all iterations
  std::int64_t sessions = 0, tries = 0;
  std::int64_t unknown = 0;  ///< iterations whose log does not say which techniques they added
};

/// Adds the counts of one session. Its first `counted` events belong to a session that was added
/// before, of which it is a copy.
void add_session(const session::Session& session, const session::SessionView& view,
                 const std::string& name, std::int64_t counted, Experience& all);

}  // namespace wb::verbs
