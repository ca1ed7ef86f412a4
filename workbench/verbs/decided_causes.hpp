// SPDX-License-Identifier: MIT
// Decides the causes of kernels/causes.json by findings from a session's log or from files. For
// `diagnose` and `advise`, and for `close`, which logs the decisions (causes_decided).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advise/diagnosis.hpp"
#include "advise/roadmap.hpp"
#include "catalogue/launches.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/session.hpp"
#include "verbs/cause_findings.hpp"

namespace wb::engine {
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

using advise::probe_problems;

/// The decided causes of one subject, and the catalogues that they refer to.
struct DecidedCauses {
  std::vector<catalogue::Cause> causes;
  std::vector<catalogue::Technique> techniques;
  std::vector<catalogue::LaunchRule> launches;
  advise::Target target;
  std::vector<advise::Diagnosis> diagnoses;
  std::vector<std::string> gaps;  ///< facts in the log that no finding shows
  /// Distance to the bound by the problem's label, by the units that the stored manifest tells of.
  struct Room {
    double ratio = 1;
    std::string bound;  ///< what sets it
    std::vector<std::int64_t> events = {};
  };
  std::map<std::string, Room> rooms;
};
/// Puts those rooms into a situation of the same subject.
void use_rooms(const DecidedCauses& decided, advise::Situation& situation);
/// The catalogues only, with nothing diagnosed yet.
Result<DecidedCauses> cause_catalogues(const engine::Services& services);
/// The incumbent, on the suite's problems without held-out ones, in groups by how it came out of
/// the session (lost to a rival, won, …) and what bounds them, the lost ones most urgent.
/// `situation`, also below, comes from situation_of().
Result<advise::Target> target_of(const session::SessionView& view,
                                 const advise::Situation& situation);
/// Another variant of the session on the same problems, in groups by its own figures.
advise::Target target_for(const advise::Target& incumbent, const session::Session& session,
                          const session::SessionView& view, const std::string& subject);

Json causes_list(const std::vector<advise::Diagnosis>& diagnoses);
/// The start, if another variant is the incumbent now, else null: `subject`, `causes`, each with
/// the step that removed it (`removed_by`, or null), and in `held_up_by` those causes that the
/// incumbent lacks, that more than its manifest tells of and that a winning step has a remedy of,
/// by the step's gain.
Json start_json(const session::Session& session, const session::SessionView& view,
                const DecidedCauses& decided, LogFindings& log);
/// Fills the diagnoses of the target.
void decide(DecidedCauses& decided, const std::vector<measure::Finding>& findings);

/// Decides the causes of the incumbent. Errors: those of the catalogues.
Result<DecidedCauses> decide_causes(const engine::Services& services,
                                    const session::Session& session,
                                    const session::SessionView& view,
                                    const advise::Situation& situation);

/// subject, plan, causes, start and gaps, as `diagnose` answers. Errors: those of decide_causes().
Result<Json> causes_json(const engine::Services& services, const session::Session& session,
                         const session::SessionView& view);
/// The view with the causes that causes_json() decides in place of the recorded ones, so that a
/// page never says other than `diagnose`; those as they are where nothing can be decided. Its
/// roadmap is that of use_present_roadmap().
session::SessionView with_present_causes(const engine::Services& services,
                                         const session::Session& session,
                                         const session::SessionView& view);
/// What the session's report is made from: of a closed session with_present_causes(), else the log
/// as it stands, which has causes once they were decided.
session::SessionView view_of_report(const engine::Services& services,
                                    const session::Session& session,
                                    const session::SessionView& view);
/// The answer of `diagnose` on a session. Errors: those of decide_causes();
/// not_found (no such iteration); invalid (it was never timed).
Result<Json> diagnose_session(const engine::Services& services, const session::Session& session,
                              const Json& args);
/// In a held session: makes the measurements that undecided causes need, decides again and appends
/// causes_decided. A failed measurement is reported, not fatal. Errors: those of the log, of the
/// catalogues, canceled.
Result<Json> diagnose_measuring(engine::Context& context, const Json& args);

/// For a session that is about to end: takes the measurements that its open causes need, the most
/// important cause first, and begins none once `budget_s`, or what the session's own budget of wall
/// time leaves, is used or would not last for one as long as the longest so far. Returns {`probe`
/// (or null), `outcome`, `message`, `causes`} each; `not_taken` with the reason for those that it
/// did not begin. Nothing that fails is fatal. Errors: those of the log, canceled.
Result<Json> measure_before_close(engine::Context& context, double budget_s);

/// Cuts an answer of causes_json() to what the line of one event holds: first evidence is left out
/// and counted in `evidence_left_out`, the start's before the incumbent's, then the start's causes,
/// then groups and problems.
void fit_in_event(Json& causes);

/// Appends causes_decided to the held session if it has a baseline. Without a catalogue it appends
/// a note with the reason.
Result<void> record_causes(engine::Context& context);

}  // namespace wb::verbs
