// SPDX-License-Identifier: MIT
// What sessions tell of techniques and causes, counted over all of them, for `experience`.
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
struct Use {
  std::int64_t tried = 0, won = 0, invalid = 0;
  std::set<std::string> sessions;
  std::vector<advise::PastPrediction> predictions;
  Json where = Json::array();  ///< session, iteration, event, outcome, speedup
};

/// One cause over all sessions, as the last causes_decided of each has it.
struct Decided {
  std::int64_t supported = 0, refuted = 0, undecided = 0;
};

struct Experience {
  std::map<std::string, Use> techniques;
  std::map<std::string, Decided> causes;
  std::vector<advise::PastPrediction> predictions;  ///< of all tries
  std::int64_t sessions = 0, tries = 0;
  std::int64_t unknown = 0;  ///< tries of which the log does not tell what they added
};

/// Counts a session's tries and the causes that it decided. Events up to `counted` are those of a
/// copy that was added before.
void add_session(const session::Session& session, const session::SessionView& view,
                 const std::string& name, std::int64_t counted, Experience& all);

}  // namespace wb::verbs
