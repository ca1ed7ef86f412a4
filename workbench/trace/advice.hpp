// SPDX-License-Identifier: MIT
// Advice on the attention of a profile: recommendations from metrics, each with its figures, an
// algorithmic and a kernel change; and tables for paged attention with what applies to the profile.
// Used by the findings page.
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
  std::string expected;     ///< effect, and how certain it is
  double time_ms = 0;       ///< the affected time, by which the list is ordered
};

/// Ordered by GPU time, largest first.
std::vector<Advice> advice_for(const Json& metrics);

/// One row of a table on paged attention: what to look at, what to do, and whether it applies.
struct PagedRule {
  std::string subject, when, action;
  std::string here;  ///< "yes: …", "no: …" or "not known: …" with this profile's figures
};
std::vector<PagedRule> algorithmic_rules(const Json& metrics);
std::vector<PagedRule> kernel_rules(const Json& metrics);
std::vector<PagedRule> configuration_rules(const Json& metrics);

/// The call as a problem text for `sdpa-wb measure --problem`, or why it cannot be one.
struct ReplayOrWhy {
  std::string problem, why;
};
ReplayOrWhy replay_problem(const Json& operation);

}  // namespace wb::trace
