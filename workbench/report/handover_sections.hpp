// SPDX-License-Identifier: MIT
// Private to report: what a handover tells of causes, and a roadmap's next iteration and next
// session, for the pages that hand work over. From the log's events alone; without them a section
// says so.
#pragma once

#include <string>

#include "report/phrases.hpp"

namespace wb::report {

/// Evidence, interpretation and implication of each cause that is or was supported.
std::string insights_section(const Page& page);
/// The first step: target, reason, actions with their commands, times before and after.
std::string next_iteration_section(const Page& page);
/// The stages as parts of a session: objective, estimate, numbered steps and target of each.
std::string next_session_section(const Page& page);

}  // namespace wb::report
