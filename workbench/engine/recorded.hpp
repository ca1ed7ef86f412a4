// SPDX-License-Identifier: MIT
// What the log of a session says, read forgivingly: members of payloads, and what its iterations
// came to. Reads only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "session/session.hpp"
#include "session/view.hpp"

namespace wb::engine {

/// The incumbent over the start: the product of the confirmed steps; nothing before the first.
std::optional<double> confirmed_gain(const session::SessionView& view);
/// The iteration that made the present incumbent (the baseline at first); nullptr before.
const session::IterationView* holder_of(const session::SessionView& view);
/// What comparisons call the iteration's own variant; before it is built, what its opening does.
std::string candidate_of(const session::IterationView& iteration);

/// The techniques that an iteration_opened names.
std::vector<std::string> techniques_of(const session::IterationView& iteration);
/// `visit(iteration, payload of iteration_closed)` for all but baselines, newest first.
template <typename Visit>
void each_closed_try(const session::SessionView& view, const Visit& visit);
/// What was abandoned, or the machine failed at, says nothing about a variant.
bool tells_of_its_variant(const Json& closed);

/// Forgiving reads of payloads: what is missing or of another type is "not there".
std::string text_of(const Json& json, std::string_view key);
std::optional<double> number_of(const Json& json, std::string_view key);
const Json& member_of(const Json& json, std::string_view key);

/// Techniques of `has` that the variant `parent` lacks; nothing where its sources are not stored.
std::optional<std::vector<std::string>> added_to(const session::Session& session,
                                                 const session::SessionView& view,
                                                 const std::string& parent,
                                                 std::vector<std::string> has);

template <typename Visit>
void each_closed_try(const session::SessionView& view, const Visit& visit) {
  for (auto it = view.iterations.rbegin(); it != view.iterations.rend(); ++it) {
    if (!it->closed || text_of(it->closed->payload, "outcome") == "baseline") continue;
    visit(*it, it->closed->payload);
  }
}

}  // namespace wb::engine
