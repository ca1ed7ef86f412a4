// SPDX-License-Identifier: MIT
// What the engine works with (Services), and what a running verb tells its skin (Progress: a line
// on a terminal, an MCP notification), which is made by the engine and never read back by it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "protocol/protocol.hpp"
#include "runner/transport.hpp"
#include "variant/builder.hpp"

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

/// The command line fills it, tests put fakes in.
struct Services {
  FileSystem& file_system;
  const Clock& clock;
  variant::SearchPath search_path;
  fs::path cache_root;
  fs::path sessions_root = "sessions";
  fs::path data_root = {};  ///< the user's data: adopted sessions; empty: none are kept
  std::shared_ptr<const variant::Toolchain> toolchain;  ///< of backend cpu
  std::shared_ptr<const variant::Toolchain> cuda_toolchain =
      nullptr;  ///< of backend cuda; may be null
  variant::BuildOptions build_options;
  /// Starts a worker and opens its wire. Called when a verb first needs one.
  std::function<Result<std::unique_ptr<runner::Transport>>()> open_transport;
  protocol::HelloArgs hello;  ///< its gpu counts where a session or variant wants one
  ProgressSink progress;      ///< may be empty
  /// Told of wins, failures, shares of the budget and the end, between measurements; may be empty.
  std::function<void(const Json&)> on_milestone;
  /// What only the program around the engine can do (AskProgram, program.hpp); may be empty.
  std::function<Result<Json>(const Json&)> ask_program = nullptr;
  const std::atomic<bool>* stop_requested = nullptr;  ///< set by SIGTERM, SIGHUP, SIGINT
  std::string workbench_version;
  /// Of the drawn runs of verdicts, for tests. None: the kernel's random numbers, as it must be
  /// wherever a variant is judged that has a reason to guess.
  std::optional<std::uint64_t> edge_key = {};
};

}  // namespace wb::engine
