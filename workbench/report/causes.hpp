// SPDX-License-Identifier: MIT
// Parts that pages about causes share: the session page's section, the root-cause page and the
// bottleneck page, all made from the event causes_decided alone; and the room up to the bounds,
// which the roadmap reads too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "report/phrases.hpp"

namespace wb::report {

/// The causes of a payload (causes_decided, or its `start`) with that state; empty: all.
std::vector<const Json*> causes_of(const Json& decided, std::string_view state = {});
/// Causes of the start that the incumbent lacks, the one that the largest step removed first
/// (`held_up_by` of its causes); in logs from before steps were asked, all that the incumbent
/// lacks.
std::vector<const Json*> held_up_causes(const Json& decided);

/// How far what is to be taken on a problem, else the incumbent, is from its bound there, under the
/// objective's plan.
struct Room {
  std::string problem;  ///< as pages call it
  double factor = 1;    ///< its time over the bound
  std::string bound;    ///< what sets it: "an empty call of 0.52 us", "the f16 compute peak"
  std::vector<std::int64_t> events;  ///< of its time
};
/// The largest room first, by analyze::time_bound() on the log's times, and by what the log found
/// then where that has no answer; none where a time beats its bound by more than the peak's error,
/// which shows that it was none.
std::vector<Room> rooms_now(const Page& page);

/// "1.40x (1.10x to 1.80x)"; "-" when the cause has no gain.
std::string gain_words(const Json& cause);
/// One piece of a cause's evidence: its sentence, its deciding figures, its events.
std::string evidence_sentence(const Facts* facts, const Json& evidence, std::size_t max_bytes);
/// The section of the session page; empty when the log has no decided causes.
std::string causes_section(const Page& page);
/// One row per cause: state, evidence, gain, remedies.
std::string causes_table(const Facts& facts, const std::vector<const Json*>& causes);
/// "lost to a rival: supported on 3 of 3; won: refuted" where groups of problems differ; else "".
std::string group_words(const Json& cause);
/// The one measurement that decides an open cause: what it brings, its command, the profiler's
/// counter. Of older logs each of the registry's; empty where a log names none.
std::string decided_by_words(const Json& cause, const std::string& subject,
                             const std::string& problem);
/// What would decide undecided causes, one line each.
std::string needs_list(const std::vector<const Json*>& causes, const std::string& subject,
                       const std::string& problem);
/// A table of expected and observed times and launches, and what the difference indicates.
std::string symptoms_section(const Facts& facts, const std::vector<session::Fact>& findings);
/// The present analyses' findings on the log, each as a fact of the first event it rests on.
std::vector<session::Fact> findings_now(const session::SessionView& view);
/// What `findings` could not see and what the log does not hold, one line each.
std::string unseen_list(const session::SessionView& view,
                        const std::vector<session::Fact>& findings);
/// The problem of the suite that a command about causes looks at, among those `where` a cause is at
/// work if any is named: what is lost to a rival by most, else what has most room, else the first
/// that is not held out.
std::string example_problem(const Page& page, const std::vector<std::string>& where = {});

}  // namespace wb::report
