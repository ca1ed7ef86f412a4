// SPDX-License-Identifier: MIT
// Converts records of tools and of the compiler to the evidence's kernels. Pure; used by code that
// gathers evidence (from a live session, a log, files).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/finding.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// Adds a profile_taken payload (docs/contracts/events.md): kernels from a profiler (ncu,
/// torch.profiler), else a blind spot with its reason; other tools' answers add nothing. Malformed
/// records are skipped.
void add_profile(measure::Evidence& evidence, const Json& payload, std::int64_t event);

/// Adds launches in the form of read_ncu_report(), of one call of a subject on a problem.
void add_launches(measure::Evidence& evidence, const Json& launches, const std::string& subject,
                  const problem::Problem& problem, const std::string& source,
                  const std::vector<std::int64_t>& events);

/// Adds ptxas' facts about a build's kernels.
void add_ptxas(measure::Evidence& evidence, const variant::PtxasRecord& record,
               const std::string& subject, const std::vector<std::int64_t>& events);

}  // namespace wb::analyze
