// SPDX-License-Identifier: MIT
// Functions that make argument specs, so that a verb's spec reads like a table, and the arguments
// that several verbs share:
//   integer_argument("limit", "at most so many (default 20)").in("matches").between(1, 100)
#pragma once

#include <string_view>
#include <vector>

#include "verbs/verb.hpp"

namespace wb::verbs {

// One function per kind; an argument is optional until required() is called. `doc` is one line.
ArgumentSpec string_argument(std::string_view name, std::string_view doc);
ArgumentSpec text_argument(std::string_view name, std::string_view doc);
ArgumentSpec choice_argument(std::string_view name, std::string_view doc,
                             std::vector<std::string_view> choices);
ArgumentSpec integer_argument(std::string_view name, std::string_view doc);
ArgumentSpec real_argument(std::string_view name, std::string_view doc);
ArgumentSpec flag_argument(std::string_view name, std::string_view doc);
ArgumentSpec id_argument(std::string_view name, std::string_view doc);
ArgumentSpec ids_argument(std::string_view name, std::string_view doc);
ArgumentSpec configuration_argument(std::string_view doc);
ArgumentSpec files_argument(std::string_view name, std::string_view doc);
ArgumentSpec edits_argument(std::string_view name, std::string_view doc);
/// A list of maps with the arguments of the verb `item`, which must outlive the argument.
ArgumentSpec items_argument(std::string_view name, std::string_view doc, const VerbSpec& item);

// What is judged and timed, and how.
ArgumentSpec suite_argument();
ArgumentSpec problem_argument();
ArgumentSpec variant_argument();
ArgumentSpec plan_argument();
ArgumentSpec regime_argument();
ArgumentSpec effort_argument();
ArgumentSpec configuration_argument();
ArgumentSpec target_argument();

// How a session begins; for `open`, and for `run`, which also opens.
ArgumentSpec start_argument();
ArgumentSpec after_argument();
ArgumentSpec backend_argument();
ArgumentSpec rivals_argument();
ArgumentSpec title_argument();
ArgumentSpec repo_argument();
ArgumentSpec branch_argument();
ArgumentSpec budget_evaluations_argument();
ArgumentSpec budget_wall_argument();
ArgumentSpec budget_usd_argument();
ArgumentSpec planned_minutes_argument();
ArgumentSpec list_prices_argument();
ArgumentSpec goal_argument();

// For iterations and for searching verbs.
ArgumentSpec predicted_argument();
ArgumentSpec search_seed_argument();
ArgumentSpec search_evaluations_argument();
ArgumentSpec search_seconds_argument();
ArgumentSpec search_usd_argument();
ArgumentSpec ahead_argument();

// For the verbs that explain a profile.
ArgumentSpec trace_argument();
ArgumentSpec platform_argument();
ArgumentSpec analysis_folder_argument();
ArgumentSpec node_argument();
ArgumentSpec container_argument();

// For `proof` and `export`.
ArgumentSpec passed_variant_argument();
ArgumentSpec passed_configuration_argument();

/// For `analyze` and `diagnose`: files instead of a session.
std::vector<ArgumentSpec> findings_file_arguments();

std::vector<ArgumentSpec> joined(std::vector<ArgumentSpec> first,
                                 const std::vector<ArgumentSpec>& more);

}  // namespace wb::verbs
