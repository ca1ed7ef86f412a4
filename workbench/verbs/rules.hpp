// SPDX-License-Identifier: MIT
// The rules of kernels/dispatch.json applied to this machine. A rule serves if its artifact has a
// recorded pass: in the rule's own session, in sessions that the caller names, or in one that
// `dispatch adopt` made here. Used by `best` and `dispatch adopt`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/dispatch.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "verbs/proven.hpp"

namespace wb::engine {
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

struct Rules {
  std::vector<catalogue::DispatchRule> rules;  ///< the last one is the fallback
  fs::path table;                              ///< the table's file
};

/// The first kernels/dispatch.json of the search path. Errors: not_found; those of the file.
Result<Rules> load_rules(const engine::Services& services);

/// Why the rule's variant cannot serve the problem at all, or nothing. Errors: those of the
/// manifest's restrictions.
Result<std::optional<std::string>> obstacle(const engine::Context& context,
                                            const catalogue::DispatchRule& rule,
                                            const problem::Problem& problem);

/// The result of looking for a rule's proof.
struct RuleProof {
  std::optional<Proven> proven;
  std::string why_not;       ///< the reason when nothing is proven
  bool is_offered = false;   ///< `dispatch adopt` may prove the rule's variant on this machine
  bool was_refused = false;  ///< that was tried for this problem and failed
};

/// Looks for a recorded pass of the rule's variant that covers the problem, on a device of that
/// name. `more`: sessions beside the rule's own. A rule for another device serves only through
/// adopted sessions.
RuleProof prove(engine::Context& context, const catalogue::DispatchRule& rule,
                const fs::path& table, const Json& more, const problem::Problem& problem,
                const std::string& device);

/// Where `dispatch adopt` keeps sessions, below the user's data folder. Empty: nowhere.
fs::path adopted_folder(const engine::Services& services);
/// The name of the adopting session for this rule, without its number.
std::string adopted_name(const catalogue::DispatchRule& rule);

/// First words of the closing reasons of `dispatch adopt`'s sessions.
inline constexpr std::string_view k_adopted = "adopted", k_declined = "declined",
                                  k_failed = "failed";

/// The rule's own session, whose path is relative to the table's folder.
fs::path session_of(const catalogue::DispatchRule& rule, const fs::path& table);

/// A rule's `dtypes`, `device` and `when` as text for people.
std::string conditions_of(const catalogue::DispatchRule& rule);

}  // namespace wb::verbs
