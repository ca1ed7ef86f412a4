// SPDX-License-Identifier: MIT
// Repeats the measurement of a recorded iteration, for `reproduce`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "engine/settings.hpp"
#include "measure/figures.hpp"
#include "session/session.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::engine {
struct Context;
}  // namespace wb::engine

namespace wb::verbs {

/// What the log says of one iteration.
struct RecordedIteration {
  std::int64_t iteration = 0;
  std::string candidate, incumbent;  ///< labels
  measure::Comparison figure;        ///< over the objective, when the iteration closed
  bool confirmed = false;            ///< if so, the figure covers the held-out problems too
};

struct Repeat {
  measure::Comparison total;
  std::vector<engine::ProblemScore> scores;
  std::optional<std::string> failure;  ///< why one of the variants has no figure now
  std::optional<bool> same_artifact;   ///< nothing when one of them does not build
};

/// Builds, judges and times both variants by the context's settings; stops at the first that gives
/// no figure. Errors: environment (the machine failed), those of the stored files.
Result<Repeat> repeat_all(engine::Context& context, const session::Session& session,
                          const session::SessionView& view, const RecordedIteration& record,
                          const ProblemNames& names);

}  // namespace wb::verbs
