// SPDX-License-Identifier: MIT
// Private to report: the sections of the session page (session_page.cpp), each a function from
// facts to Markdown in a file of its subject. A section whose facts the log lacks is empty.
#pragma once

#include <string>

#include "report/phrases.hpp"

namespace wb::report {

std::string first_screen(const Page& page);  ///< at most 15 lines
std::string objective_section(const Page& page);
std::string environment_section(const Page& page);
std::string baseline_section(const Page& page);
std::string result_section(const Page& page);  ///< incumbent against start and every rival
std::string iterations_section(const Page& page);
std::string outside_section(const Page& page);  ///< results of `compare`; empty without any
std::string hypotheses_section(const Page& page);
std::string correctness_section(const Page& page);
std::string series_section(const Page& page);  ///< empty for a session outside a series
/// The cost in device time and dollars per percent gained and per iteration; empty before an
/// iteration closed.
std::string gain_per_cost(const Page& page);
/// Empty when the log has no roadmap.
std::string roadmap_section(const Page& page);
/// Phases with planned and used minutes and their results.
std::string execution_section(const Page& page);
/// True when minutes were planned or phases were named.
bool has_stated_plan(const Facts& facts);
std::string next_steps_section(const Page& page);
std::string decision_section(const Page& page);
std::string checklist_section(const Page& page);
std::string unseen_section(const Page& page);
std::string notes_section(const Page& page);

}  // namespace wb::report
