// SPDX-License-Identifier: MIT
// Private to report: a roadmap's next iteration and next session, for the pages that hand work
// over. From the event roadmap_made alone; without it the section says so.
#pragma once

#include <string>

#include "report/sections.hpp"

namespace wb::report {

/// The first step: target, reason, actions with their commands, times before and after.
std::string next_iteration_section(const Page& page);
/// The stages as parts of a session: objective, estimate, numbered steps and target of each.
std::string next_session_section(const Page& page);

}  // namespace wb::report
