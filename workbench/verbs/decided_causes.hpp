// SPDX-License-Identifier: MIT
// The causes of kernels/causes.json held against what was found, of a session's log or of files:
// for `diagnose`, `advise`, and `close`, which keeps what was decided in the log (causes_decided).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advise/diagnosis.hpp"
#include "advise/roadmap.hpp"
#include "engine/call.hpp"
#include "session/view.hpp"

namespace wb::verbs {

/// The decided causes of one subject, with the catalogues that they point into.
struct DecidedCauses {
  std::vector<catalogue::Cause> causes;
  std::vector<catalogue::Technique> techniques;
  advise::Patient patient;
  std::vector<advise::Diagnosis> diagnoses;
  std::vector<std::string> gaps;  ///< what the log has and no finding shows
};
/// The catalogues alone, with nobody diagnosed yet.
Result<DecidedCauses> cause_catalogues(const engine::Services& services);
/// The incumbent, on the problems of the suite that are not held out. `situation`: of
/// situation_of(), here and below.
Result<advise::Patient> patient_of(const session::SessionView& view,
                                   const advise::Situation& situation);

struct LogFindings {
  std::vector<measure::Finding> findings;
  std::vector<std::string> gaps;  ///< what the log has and no finding shows
};
/// What today's analyses say of what one iteration measured, and what builds' records say.
LogFindings iteration_findings(const session::SessionView& view,
                               const session::IterationView& iteration);
Json causes_list(const std::vector<advise::Diagnosis>& diagnoses);
/// Fills the diagnoses of the patient.
void decide(DecidedCauses& decided, const std::vector<measure::Finding>& findings);

/// Of the incumbent. Errors: those of the catalogues.
Result<DecidedCauses> decide_causes(const engine::Services& services,
                                    const session::SessionView& view,
                                    const advise::Situation& situation);

/// Why the candidate of one iteration takes its time, by what that iteration measured, and which of
/// its causes its parent has not: those may explain that it lost. Errors: not_found (no such
/// iteration); invalid (it was never timed); those of the catalogues.
Result<Json> diagnose_iteration(const engine::Services& services, const session::Session& session,
                                const session::SessionView& view, std::int64_t number);

/// subject, plan, causes, start and gaps, as `diagnose` answers. Errors: those of decide_causes().
Result<Json> causes_json(const engine::Services& services, const session::Session& session,
                         const session::SessionView& view);
/// The answer of `diagnose` on a session. Errors: those of decide_causes() and
/// diagnose_iteration().
Result<Json> diagnose_session(const engine::Services& services, const session::Session& session,
                              const Json& args);
/// Inside a held session: measures what undecided causes need and the engine can take, decides
/// again and appends causes_decided. A measurement that fails is told, not fatal.
/// Errors: those of the log, of the catalogues, canceled.
Result<Json> diagnose_measuring(engine::Context& context, const Json& args);

/// Appends causes_decided to the held session, where it has a baseline. Without a catalogue a note
/// says why there are none.
Result<void> record_causes(engine::Context& context);

/// What a probe measures: problems that differ in one size only, B ("heads": 1, 2 and 4 times the
/// base's) or Skv ("keys": 2, 4 and 8 times, no causal rule); for other probes the base itself.
std::vector<problem::Problem> probe_problems(const problem::Problem& base, std::string_view probe);

}  // namespace wb::verbs
