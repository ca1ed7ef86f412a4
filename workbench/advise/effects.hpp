// SPDX-License-Identifier: MIT
// What iterations of all sessions say about techniques and ideas. Only isolated trials have an
// effect: exactly one technique or idea changed between parent and child. Pure functions; the
// caller reads the logs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/ideas.hpp"
#include "core/dtype.hpp"
#include "core/json_fwd.hpp"
#include "problem/problem.hpp"

namespace wb::advise {

/// One closed iteration.
struct Trial {
  std::string session;                    ///< listed name
  std::string log_sha256;                 ///< of the log up to `event`: the hash of that line
  bool is_own = false;                    ///< of the session that advice is given on
  std::int64_t iteration = 0, event = 0;  ///< event: iteration_closed
  std::string t;                          ///< when it closed
  std::string backend, device, architecture;
  std::string parent, kernel;  ///< names without '@'
  std::vector<problem::Problem> problems;
  std::vector<std::string> added;    ///< techniques that the parent lacks and that could act
  std::vector<std::string> removed;  ///< those of the parent that it lacks and that could act
  std::vector<std::string> ideas;    ///< named when it was proposed, or recognised by their change
  std::string isolated;              ///< the one technique that changed; empty: none or several
  /// Besides its one idea nothing changed: its parameters alone, or an edit of the parent's sources
  /// that adds at most one technique.
  bool is_single = false;
  bool is_known = true;  ///< false: nothing tells what it changed
  std::string outcome;   ///< "win", "no_gain", "invalid"
  std::optional<double> speedup, low, high, predicted;
  std::int64_t decided_event = 0;  ///< hypothesis_decided, if it decided the size of the gain

  [[nodiscard]] bool won() const { return outcome == "win"; }
  /// It has a figure and gained nothing.
  [[nodiscard]] bool lost() const { return outcome == "no_gain" && speedup.has_value(); }
  /// Whether it tried exactly this: a technique by its word, an idea by its id.
  [[nodiscard]] bool is_of(std::string_view name) const;
};

/// True where a trial on these problems says something about that one: same dtype, and sizes within
/// a factor of two of those that were measured.
bool is_in_scope(const Trial& trial, const problem::Problem& problem);

/// The effect of one technique or idea, from its isolated trials.
struct Effect {
  std::int64_t tried = 0, won = 0, lost = 0;
  /// Geometric mean, and the lowest and highest end of the intervals.
  std::optional<double> speedup, low, high;
  std::vector<const Trial*> trials;
};
/// Of those on that backend; an empty `backend` takes all.
Effect effect_of(const std::vector<Trial>& trials, std::string_view name,
                 std::string_view backend = {});
/// With the first trials: session, log_sha256, iteration, event, outcome, speedup.
Json to_json(const Effect& effect);

/// By its isolated trials: won, lost, no_gain, or tried where none has a figure. Without one what
/// its source says, or tried where that is open and a step beside others had it.
catalogue::IdeaState state_of(const catalogue::Idea& idea, const std::vector<Trial>& trials);

}  // namespace wb::advise
