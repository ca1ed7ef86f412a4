// SPDX-License-Identifier: MIT
// Private to report: what a handover tells of causes, and a roadmap's next iteration and next
// session, for the pages that hand work over. From the log's events alone; without them a section
// says so.
#pragma once

#include <string>

#include "report/phrases.hpp"
#include "report/report.hpp"

namespace wb::report {

/// Result, losses, cause and next step, a line each, as the report of two pages says them.
std::string short_section(const Page& page);
/// How the start walked and how the winner does, as pseudo-code; the changed lines; what a check of
/// it should print. Empty where nothing won.
std::string cure_section(const Page& page, const PageSources* sources);
/// The first steps with gain, effort and risk, as a table.
std::string next_steps_table(const Page& page);

/// Evidence, interpretation and implication of each cause that is or was supported.
std::string insights_section(const Page& page);
/// The first step: target, reason, actions with their commands, times before and after.
std::string next_iteration_section(const Page& page);
/// The stages as parts of a session: objective, estimate, numbered steps and target of each.
std::string next_session_section(const Page& page);

}  // namespace wb::report
