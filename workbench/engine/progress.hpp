// SPDX-License-Identifier: MIT
// Progress: what a running verb tells its skin (a line on a terminal, an MCP notification). Made by
// the engine, never read back by it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace wb::engine {

struct Progress {
  std::string stage;                 ///< "build", "verdict", "selection", "confirmation", …
  std::string what;                  ///< the variant or problem it works on
  std::int64_t done = 0, total = 0;  ///< of this stage
  std::int64_t iteration = 0;
  std::optional<double> best_speedup = {};  ///< incumbent over the start, confirmed
  double elapsed_s = 0;
  std::optional<double> left_s = {};    ///< of the wall budget, or the estimate when there is none
  std::optional<double> cost_usd = {};  ///< nothing when no rate was given
};

using ProgressSink = std::function<void(const Progress&)>;

}  // namespace wb::engine
