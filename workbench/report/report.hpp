// SPDX-License-Identifier: MIT
// Reports: a session's view rendered as Markdown, from the log alone. Every figure carries the id
// of the event it comes from ([e12]); `sdpa-wb show ID` prints the raw samples behind it.
#pragma once

#include <string>
#include <vector>

#include "report/source_changes.hpp"
#include "session/view.hpp"

namespace wb::report {

/// reports/session.md. The first screen (at most 15 lines): outcome and stop reason, gain with
/// interval (hot, cold, eager side by side) against the named rival and version, problems lost,
/// spend, roofline headroom, recommendation. Then objective, environment, baseline table,
/// iterations, correctness, cost table with totals that add up, next steps.
std::string render_session(const session::SessionView& view);

/// iterations/NNNN.md: the same for one iteration, without its commit oid (which is not yet known
/// when the page is written).
std::string render_iteration(const session::SessionView& view,
                             const session::IterationView& iteration);

/// iterations/NNNN.json: the facts of that page for programs.
Json iteration_json(const session::SessionView& view, const session::IterationView& iteration);

/// The next steps of session.md, in their order: one Markdown sentence each.
std::vector<std::string> next_steps(const session::SessionView& view);

/// The roadmap that an event roadmap_made keeps, or `advise` made, as Markdown.
std::string render_roadmap(const Json& roadmap);

/// The causes that an event causes_decided keeps, or `diagnose` decided, as Markdown.
std::string render_causes(const Json& decided);

/// `report --kind root-cause`: which cause sets the time, what says so, what was mended, what a fix
/// should bring and how to see that it did. `changes`: where the fixes lie, if the sources are at
/// hand.
std::string render_root_cause(const session::SessionView& view,
                              const SourceChanges* changes = nullptr);

/// `report --kind bottleneck`: how fast, what the problems demand of the device, how the launches
/// meet it, what bounds them, and what to do. From the log alone; what it does not hold is
/// said.
std::string render_bottleneck(const session::SessionView& view);

/// `report --kind iteration`: its page, what today's analyses say of what it measured, where the
/// loop stands, and the next iteration. Unlike render_iteration() it tells what is known only
/// later.
std::string render_iteration_report(const session::SessionView& view,
                                    const session::IterationView& iteration);

/// `report --kind handover`: what was reached and learned, after how much work the spend is won
/// back, the next iteration and session as the roadmap has them, and the choices with their costs.
std::string render_handover(const session::SessionView& view);

/// One screen for `sdpa-wb status`.
std::string render_status(const session::SessionView& view);

/// `sdpa-wb show ID` of one event: its payload for people; turns with all samples.
std::string render_event(const session::Event& event);

}  // namespace wb::report
