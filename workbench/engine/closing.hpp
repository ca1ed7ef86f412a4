// SPDX-License-Identifier: MIT
// Closes an iteration: pages, iteration_closed, the commit, the session's report; and tells users
// who do not watch (Services::on_milestone) of a win, a failure, half and four fifths of the
// budget, the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/json.hpp"
#include "session/session.hpp"

namespace wb::engine {

struct Context;

/// What closing an iteration needs. `closed` is the payload of iteration_closed without pages.
struct IterationEnd {
  Json closed;
  std::string variant_id, variant_label, artifact_id;  ///< empty when there is none
  std::optional<double> predicted_speedup;
};
/// Writes pages, iteration_closed, commit and reports. Returns the commit's oid.
Result<std::string> close_iteration(Context& context, const IterationEnd& end);
/// Closes the iteration in flight, if any, as `abandoned`, and debits the worker time spent on it.
Result<void> abandon_in_flight(Context& context, const session::SessionView& view,
                               std::string_view reason);
/// Rewrites reports/session.md and session_full.md from the log.
Result<void> write_session_report(Context& context);

/// The answer of the closing verb, for the commit that it made.
Json closed_answer(const session::Session& session, const std::string& commit);

/// Tells of the end: the session was closed or paused.
void report_end_milestone(Context& context, std::string_view how, std::string_view reason);

}  // namespace wb::engine
