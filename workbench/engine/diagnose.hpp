// SPDX-License-Identifier: MIT
// Private to engine: the verb `diagnose`, which holds the causes of kernels/causes.json against
// what was found, of a session's log or of files, and with --measure takes the measurements that
// open ones need. What was decided is kept in the log (causes_decided), as is each measurement.
#pragma once

#include <string>
#include <vector>

#include "advise/diagnosis.hpp"
#include "advise/roadmap.hpp"
#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

VerbSpec diagnose_verb_spec();

/// Whether a call of that verb takes measurements, and so writes into its session.
bool asks_to_measure(const VerbSpec& verb, const Json& args);

/// The decided causes of one subject, with the catalogues that they point into.
struct DecidedCauses {
  std::vector<catalogue::Cause> causes;
  std::vector<catalogue::Technique> techniques;
  advise::Patient patient;
  std::vector<advise::Diagnosis> diagnoses;
  std::vector<std::string> gaps;  ///< what the log has and no finding shows
};
/// The catalogues alone, with nobody diagnosed yet.
Result<DecidedCauses> cause_catalogues(const Services& services);
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

/// Of the incumbent. Errors: those of the catalogues.
Result<DecidedCauses> decide_causes(const Services& services, const session::SessionView& view,
                                    const advise::Situation& situation);

/// Why the candidate of one iteration takes its time, by what that iteration measured, and which of
/// its causes its parent has not: those may explain that it lost. Errors: not_found (no such
/// iteration); invalid (it was never timed); those of the catalogues.
Result<Json> diagnose_iteration(const Services& services, const session::Session& session,
                                const session::SessionView& view, std::int64_t number);

/// Reads only. Errors: those of decide_causes(), of diagnose_iteration() or of the files.
Result<Json> verb_diagnose(const Services& services, const session::Session& session,
                           const Json& args = Json::object());
Result<Json> verb_diagnose_files(const Services& services, const Json& args);
/// Inside a held session: measures what undecided causes need and the engine can take, decides
/// again and appends causes_decided. A measurement that fails is told, not fatal.
/// Errors: those of the log, of the catalogues, canceled.
Result<Json> verb_diagnose_measuring(Context& context, const Json& args);

/// Appends causes_decided to the held session, where it has a baseline. Without a catalogue a note
/// says why there are none.
Result<void> record_causes(Context& context);

/// What a probe measures: problems that differ in one size only, B ("heads": 1, 2 and 4 times the
/// base's) or Skv ("keys": 2, 4 and 8 times, no causal rule); for other probes the base itself.
std::vector<problem::Problem> probe_problems(const problem::Problem& base, std::string_view probe);

}  // namespace wb::engine
