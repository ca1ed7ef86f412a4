// SPDX-License-Identifier: MIT
// Reports: a session's view rendered as Markdown, from the log alone. Every figure carries the id
// of the event it comes from ([e12]); `sdpa-wb show ID` prints the raw samples behind it.
#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "report/loops.hpp"
#include "report/source_changes.hpp"
#include "session/goals.hpp"
#include "session/view.hpp"

namespace wb::report {

/// What pages say of the sources, which the log alone does not hold.
struct PageSources {
  SourceChanges changes;
  LoopSide start, winner;  ///< how they divide the work, where their manifests tell
};

/// reports/session.md: at most 900 words and five tables of at most eight rows, for somebody who
/// has to decide. What was asked, what won and why, where not, what it cost, what is next.
std::string render_summary(const session::SessionView& view);

/// reports/session_full.md. The first screen (at most 15 lines): outcome and stop reason, gain with
/// interval (hot, cold, eager) against the named rival and version, problems lost, cost, roofline
/// headroom, recommendation. Then objective, environment, baseline table, iterations, correctness,
/// cost table with totals that add up, next steps.
std::string render_session(const session::SessionView& view);

/// iterations/NNNN.md: the page of one iteration, without its commit oid, which is unknown when the
/// page is written.
std::string render_iteration(const session::SessionView& view,
                             const session::IterationView& iteration);

/// iterations/NNNN.json: the facts of that page for programs.
Json iteration_json(const session::SessionView& view, const session::IterationView& iteration);

/// The next steps of session_full.md that do not follow from who won, one Markdown sentence each:
/// unfinished work, room below the roofline, what iterations left open, noise. The outcome has the
/// others.
std::vector<std::string> other_steps(const session::SessionView& view);

/// The roadmap of a roadmap_made event, or of `advise`, as Markdown.
std::string render_roadmap(const Json& roadmap);

/// The causes of a causes_decided event, or of `diagnose`, as Markdown.
std::string render_causes(const Json& decided);

/// `report --kind root-cause`: the cause that limits the time, its evidence, the fixes made, the
/// next fix's expected gain and how to verify it. `changes`: where the fixes are, if the sources
/// are available.
std::string render_root_cause(const session::SessionView& view,
                              const SourceChanges* changes = nullptr);

/// `report --kind bottleneck`: how fast the kernel is, what the problems demand of the device, how
/// the launches use it, what limits them, and what to do. From the log alone; the page states what
/// the log lacks.
std::string render_bottleneck(const session::SessionView& view,
                              const PageSources* sources = nullptr);

/// `report --kind iteration`: its page, the present analyses' findings on its measurements, the
/// state of the session, and the next iteration. Unlike render_iteration() it includes facts that
/// became known later.
std::string render_iteration_report(const session::SessionView& view,
                                    const session::IterationView& iteration,
                                    const PageSources* sources = nullptr);

/// `report --kind handover`: what was reached and learned, after how much work the cost is
/// recovered, the roadmap's next iteration and session, and the options with their costs.
std::string render_handover(const session::SessionView& view, const PageSources* sources = nullptr);

/// "missed by 0.019: 1.18x [1.17, 1.19]", "undecided: 3 of 4 problems have a figure".
std::string goal_words(const session::Goal& goal, const session::GoalResult& result);

/// One screen for `sdpa-wb status`.
std::string render_status(const session::SessionView& view);

/// `sdpa-wb show ID` for one event: its payload for people; turns with all samples.
std::string render_event(const session::Event& event);

}  // namespace wb::report
