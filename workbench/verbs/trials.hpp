// SPDX-License-Identifier: MIT
// Closed iterations of sessions as trials (advise/effects.hpp): what exactly changed between parent
// and child, by their configurations and sources, and what came of it. For `advise`, `experience`,
// `ideas` and the backtest.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/effects.hpp"
#include "advise/roadmap.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/session.hpp"
#include "session/view.hpp"
#include "variant/variant.hpp"

namespace wb::engine {
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// What it takes to read a change: the techniques, the register, and the present manifests by name,
/// which say which parameters turn which techniques on. Older stored manifests do not say that.
struct ChangeBook {
  std::vector<catalogue::Technique> techniques;
  std::vector<catalogue::Idea> ideas;  ///< of all places, those of a session not among them
  std::map<std::string, variant::Manifest> kernels;
  [[nodiscard]] const catalogue::Technique* find(std::string_view technique) const;
};
/// Errors: those of the catalogue and of the user's ideas. A kernel that cannot be read has no
/// conditions.
Result<ChangeBook> load_change_book(const engine::Services& services);

/// The manifest with the present conditions where it has none.
variant::Manifest with_conditions(variant::Manifest manifest, const ChangeBook& book);

/// For proposals that name ideas. Errors: not_found (the register has none of that id); those of
/// the register. Defined in ideas.cpp.
Result<void> check_idea_ids(const engine::Context& context, const Json& ids);

/// The ideas of idea_recorded events, as of the session.
std::vector<catalogue::Idea> session_ideas(const session::SessionView& view);

/// The trials of a session, in order of closing; those closed before event `after` are left out.
std::vector<advise::Trial> trials_of(const ChangeBook& book, const session::Session& session,
                                     const session::SessionView& view, const std::string& name,
                                     std::int64_t after = 0);

/// The family of the one technique or idea that was tried; empty: none or several.
std::string family_of(const advise::Trial& trial, const ChangeBook& book);
/// The trials whose predictions were sized, for calibration.
std::vector<advise::PastPrediction> predictions_of(const std::vector<advise::Trial>& trials,
                                                   const ChangeBook& book);

/// The trials of the sessions below services.sessions_root, newest k_most_sessions folders; of
/// copies what they share once. Sessions that cannot be read are left out, and so is `except`
/// (nullptr: none), by the first line of its log.
inline constexpr std::size_t k_most_sessions = 200;
std::vector<advise::Trial> trials_of_others(const ChangeBook& book,
                                            const engine::Services& services,
                                            const session::Session* except);

}  // namespace wb::verbs
