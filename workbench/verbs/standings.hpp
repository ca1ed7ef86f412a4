// SPDX-License-Identifier: MIT
// Compares figures of two recorded sessions, for `diff` and `reproduce`, and their incumbents
// through the rivals that both measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/json_fwd.hpp"
#include "engine/settings.hpp"
#include "measure/figures.hpp"
#include "session/session.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

/// Speedup, interval and noise floor of a comparison_made or iteration_closed; an absent value is
/// NaN (the floor: 0).
measure::Comparison comparison_of(const Json& payload);

/// The ratio of one session's figure to another's, with the floor that a change must clear. The
/// sessions are independent, so half-widths (in logs) and floors add in quadrature. Ambiguous when
/// an interval is unknown.
measure::Comparison change_between(const measure::Comparison& before,
                                   const measure::Comparison& after);

/// The incumbent of one session against one rival, on one problem ("": the suite).
struct Standing {
  measure::Comparison ratio;
  std::int64_t seq = 0;
};

/// One of the two sessions.
struct RecordedSide {
  session::Session session;
  session::SessionView view;
  engine::SessionSettings settings;
  ProblemNames names;
  std::string plan;
  std::map<std::string, std::map<std::string, Standing>> rivals;  ///< name -> problem -> standing
};

/// Reads the comparisons with rivals of the iteration that made the incumbent, on `plan`; empty:
/// the plan of the session's objective. Errors: those of open_recorded() and of the log.
Result<RecordedSide> read_side(const engine::Services& services, const std::string& id,
                               const std::string& plan);

/// What became of a rival from one session to the other. It relates them where nothing changed, and
/// where only the sources changed that call a library of equal versions.
struct RivalChange {
  bool is_comparable = true;
  std::string words;  ///< what changed; empty: nothing
};
RivalChange rival_change(const RecordedSide& before, const RecordedSide& after,
                         const std::string& rival);

/// Rows for the shared problems, then for the whole suite if both sessions have the same one.
Json compare_sides(const RecordedSide& before, const RecordedSide& after, const std::string& rival);

}  // namespace wb::verbs
