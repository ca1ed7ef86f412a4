// SPDX-License-Identifier: MIT
// Private to html: the turns of a session, read once from its log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace wb::html {

struct TurnRow {
  std::int64_t seq = 0, iteration = -1;
  std::string phase, plan, regime, problem, subject;
  std::vector<double> samples_us;  ///< finite ones
  double wall_us = 0;
};

using TurnTable = std::vector<TurnRow>;

/// Errors: damaged.
Result<TurnTable> read_turns(const session::Session& session, const session::SessionView& view);

}  // namespace wb::html
