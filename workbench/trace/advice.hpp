// SPDX-License-Identifier: MIT
// What to do about the attention of a profile: from metrics to recommendations, each with the
// figures it rests on and advice of both kinds, and the tables for paged attention with what holds
// here. Called by the findings page.
#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"

namespace wb::trace {

struct Advice {
  std::string title;
  std::string evidence;     ///< figures of this profile
  std::string algorithmic;  ///< change what is computed, or how often
  std::string kernel;       ///< make the same computation faster
  std::string expected;     ///< effect, and how sure it is
  double time_ms = 0;       ///< what it is about; the order of the list
};

/// The most GPU time first.
std::vector<Advice> advice_for(const Json& metrics);

/// One row of a table of paged attention: what to look at, what to do, and whether it holds here.
struct PagedRule {
  std::string subject, when, action;
  std::string here;  ///< "yes: …", "no: …" or "not known: …" with this profile's figures
};
std::vector<PagedRule> algorithmic_rules(const Json& metrics);
std::vector<PagedRule> kernel_rules(const Json& metrics);
std::vector<PagedRule> configuration_rules(const Json& metrics);

/// The call as a problem of the workbench, whose text fits `sdpa-wb measure --problem`, or why it
/// is none.
struct ReplayOrWhy {
  std::string problem, why;
};
ReplayOrWhy replay_problem(const Json& operation);

}  // namespace wb::trace
