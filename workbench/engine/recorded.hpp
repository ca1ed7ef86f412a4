// SPDX-License-Identifier: MIT
// Tolerant reads of a session's log: members of payloads, and results of its iterations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.hpp"
#include "session/session.hpp"
#include "session/view.hpp"

namespace wb::engine {

/// The confirmed speedup of the incumbent over the start: the product of the confirmed steps;
/// nothing before the first.
std::optional<double> confirmed_gain(const session::SessionView& view);
/// The iteration that made the present incumbent (the baseline at first); nullptr before.
const session::IterationView* incumbent_iteration(const session::SessionView& view);
/// The label of the iteration's own variant in comparisons; before it is built, the label in
/// iteration_opened.
std::string candidate_of(const session::IterationView& iteration);

/// The techniques that iteration_opened names.
std::vector<std::string> techniques_of(const session::IterationView& iteration);
/// Calls `visit(iteration, payload of iteration_closed)` for all but baselines, newest first.
template <typename Visit>
void for_each_closed_iteration(const session::SessionView& view, const Visit& visit);
/// False for abandoned iterations and environment failures, which say nothing about the variant.
bool is_about_variant(const Json& closed);

// Tolerant reads of payloads.
using wb::member_of;
using wb::number_of;
using wb::text_of;

/// Techniques in `has` that the variant `parent` lacks; nothing when its sources are not stored.
std::optional<std::vector<std::string>> added_to(const session::Session& session,
                                                 const session::SessionView& view,
                                                 const std::string& parent,
                                                 std::vector<std::string> has);

template <typename Visit>
void for_each_closed_iteration(const session::SessionView& view, const Visit& visit) {
  for (auto it = view.iterations.rbegin(); it != view.iterations.rend(); ++it) {
    if (!it->closed || text_of(it->closed->payload, "outcome") == "baseline") continue;
    visit(*it, it->closed->payload);
  }
}

}  // namespace wb::engine
