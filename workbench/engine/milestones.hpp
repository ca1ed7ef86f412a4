// SPDX-License-Identifier: MIT
// Milestones for users who do not watch: a win, a failure, half and four fifths of the budget, the
// end. Called by closing.cpp and engine.cpp; the sink is Services::on_milestone.
#pragma once

#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {

struct Context;

/// After an iteration was closed and committed. `closed` is the payload of iteration_closed. A
/// share of the budget is reported once, by the iteration that crosses it.
Result<void> report_iteration_milestone(Context& context, const Json& closed,
                                        std::string_view variant);
/// The session was closed or paused.
void report_end_milestone(Context& context, std::string_view how, std::string_view reason);

}  // namespace wb::engine
