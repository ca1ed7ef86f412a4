// SPDX-License-Identifier: MIT
// Private to report: what a roadmap says of the next iteration and the next session, for the pages
// that hand work over. From the event roadmap_made alone; a log without one says so.
#pragma once

#include <string>

#include "report/sections.hpp"

namespace wb::report {

/// The step to take first: target, why, steps with their commands, times before and after.
std::string next_iteration_section(const Page& page);
/// The stages as parts of a session: objective, estimate, numbered steps, target of each.
std::string next_session_section(const Page& page);

}  // namespace wb::report
