// SPDX-License-Identifier: MIT
// Private to report: what the analyses found, for all pages: each problem's place on the roofline
// (findings.cpp), its demands and its launches (demand_table.cpp).
#pragma once

#include <string>
#include <vector>

#include "report/phrases.hpp"

namespace wb::report {

std::string findings_section(const Page& page);
/// Regime and roofline share as one table per plan, launches and demands as one, all others one
/// line each.
std::string finding_tables(const Facts& facts, const std::vector<session::Fact>& findings,
                           const std::vector<std::string>& plans);
/// "- analysis: what it could not see", equal ones once; without those on other plans.
std::vector<std::string> unseen_lines(const std::vector<session::Fact>& findings);
/// True for findings of the analyses intensity, working_set and launch, which the next two
/// functions show.
bool is_in_demand_tables(const session::Fact& finding);
/// Each problem's demands: intensities and working sets. Empty without such findings.
std::string demand_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// The launches of each call. Empty without such findings.
std::string launch_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// How many threads of a block have work, as far as launches and a profiler show. Empty without
/// launches with known threads.
std::string thread_table(const Facts& facts, const std::vector<session::Fact>& findings);

}  // namespace wb::report
