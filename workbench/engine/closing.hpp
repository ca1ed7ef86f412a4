// SPDX-License-Identifier: MIT
// What an iteration leaves behind: pages, iteration_closed, the commit, the report of the session.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "session/session.hpp"

namespace wb::engine {

struct Context;

/// What one iteration leaves behind. `closed` is the payload of iteration_closed without pages.
struct IterationEnd {
  Json closed;
  std::string variant_id, variant_label, artifact_id;  ///< empty where there was none
  std::optional<double> predicted_speedup;
};
/// Pages, iteration_closed, commit, session.md. Returns the commit's oid.
Result<std::string> close_iteration(Context& context, const IterationEnd& end);
/// Closes the iteration that no one closed, if there is one, as `abandoned`; what its worker was
/// waited for is debited to it.
Result<void> abandon_in_flight(Context& context, const session::SessionView& view,
                               std::string_view reason);
/// Rewrites reports/session.md from the log.
Result<void> write_session_report(Context& context);

/// The answer of the verb that closes a session, by the commit that it made.
Json closed_answer(const session::Session& session, const std::string& commit);

}  // namespace wb::engine
