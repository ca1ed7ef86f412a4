// SPDX-License-Identifier: MIT
// From records of tools and of the compiler to the kernels of the evidence. Pure; who calls:
// whoever gathers evidence (a live session, a log, files).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/finding.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// The payload of a profile_taken event (docs/contracts/session_format.md): kernels where a
/// profiler looked (ncu, torch.profiler), else a blind spot with its reason; answers of other tools
/// add nothing. What is not well formed in the records is left out.
void add_profile(measure::Evidence& evidence, const Json& payload, std::int64_t event);

/// Launches as read_ncu_report() gives them, of one call of a subject on a problem.
void add_launches(measure::Evidence& evidence, const Json& launches, const std::string& subject,
                  const problem::Problem& problem, const std::string& source,
                  const std::vector<std::int64_t>& events);

/// What ptxas says of a build's kernels.
void add_ptxas(measure::Evidence& evidence, const variant::PtxasRecord& record,
               const std::string& subject, const std::vector<std::int64_t>& events);

}  // namespace wb::analyze
