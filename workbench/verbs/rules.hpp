// SPDX-License-Identifier: MIT
// The rules of kernels/dispatch.json held against this machine. A rule serves by
// a recorded pass of its artifact: in its own session, in sessions that the caller names, or in one
// that `dispatch adopt` made here. Who calls: `best`, `dispatch adopt`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/dispatch.hpp"
#include "engine/call.hpp"
#include "verbs/proven.hpp"

namespace wb::verbs {

struct Rules {
  std::vector<catalogue::DispatchRule> rules;  ///< the last one is the fallback
  fs::path table;                              ///< the file
};

/// The first kernels/dispatch.json of the search path. Errors: not_found; those of the file.
Result<Rules> load_rules(const engine::Services& services);

/// Why the rule's variant cannot serve the problem at all, or nothing. Errors: those of the
/// manifest's restrictions.
Result<std::optional<std::string>> obstacle(const engine::Context& context,
                                            const catalogue::DispatchRule& rule,
                                            const problem::Problem& problem);

/// Where a rule's proof was looked for, and what was found.
struct RuleProof {
  std::optional<Proven> proven;
  std::string why_not;       ///< where nothing is proven
  bool is_offered = false;   ///< what the rule names may do here what it did there: adopt it
  bool was_refused = false;  ///< that was tried here for this problem, and came to nothing
};

/// A recorded pass of the rule's variant that covers the problem, on a device of that name. `more`:
/// sessions beside the rule's own. A rule for another device serves by what was adopted only.
RuleProof prove(engine::Context& context, const catalogue::DispatchRule& rule,
                const fs::path& table, const Json& more, const problem::Problem& problem,
                const std::string& device);

/// Where `dispatch adopt` keeps sessions: below the user's data folder. Empty: nowhere.
fs::path adopted_folder(const engine::Services& services);
/// What a session of `dispatch adopt` for this rule is called, before its number.
std::string adopted_name(const catalogue::DispatchRule& rule);

/// Why `dispatch adopt` closed its sessions: the first word of their reason.
inline constexpr std::string_view k_adopted = "adopted", k_declined = "declined",
                                  k_failed = "failed";

/// The rule's own session, whose path is relative to the table's folder.
fs::path session_of(const catalogue::DispatchRule& rule, const fs::path& table);

/// What a rule's `dtypes`, `device` and `when` say, for people.
std::string conditions_of(const catalogue::DispatchRule& rule);

}  // namespace wb::verbs
