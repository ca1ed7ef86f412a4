// SPDX-License-Identifier: MIT
// Services: what the engine works with. Progress: what a running verb reports to its front end (a
// terminal line, an MCP notification); the engine never reads it back.
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
  std::string what;                  ///< the variant or problem in work
  std::int64_t done = 0, total = 0;  ///< steps of this stage
  std::int64_t iteration = 0;
  std::optional<double> best_speedup = {};  ///< incumbent over the start, confirmed
  double elapsed_s = 0;
  std::optional<double> left_s = {};    ///< of the wall budget, or an estimate without one
  std::optional<double> cost_usd = {};  ///< nothing without a rate
  bool is_list_price = false;           ///< of the cost, at least in part
};

using ProgressSink = std::function<void(const Progress&)>;

/// Filled by the command line; tests put fakes in.
struct Services {
  FileSystem& file_system;
  const Clock& clock;
  variant::SearchPath search_path;
  fs::path cache_root;
  fs::path sessions_root = "sessions";
  fs::path data_root = {};  ///< the user's data: adopted sessions; empty: none are kept
  std::shared_ptr<const variant::Toolchain> toolchain;  ///< for backend cpu
  std::shared_ptr<const variant::Toolchain> cuda_toolchain =
      nullptr;  ///< for backend cuda; may be null
  variant::BuildOptions build_options;
  /// Starts a worker and opens its wire. Called when a verb first needs one.
  std::function<Result<std::unique_ptr<runner::Transport>>()> open_transport;
  protocol::HelloArgs hello;  ///< its gpu is used when a session or variant wants one
  ProgressSink progress;      ///< may be empty
  /// Called between measurements with wins, failures, shares of the budget and the end; may be
  /// empty.
  std::function<void(const Json&)> on_milestone;
  /// Requests that only the program around the engine can serve (AskProgram, program.hpp); may be
  /// empty.
  std::function<Result<Json>(const Json&)> ask_program = nullptr;
  const std::atomic<bool>* stop_requested = nullptr;  ///< set by SIGTERM, SIGHUP, SIGINT
  std::string workbench_version;
  /// Fixes the drawn runs of verdicts, for tests. Unset: the kernel's random numbers, as required
  /// wherever a variant may try to guess.
  std::optional<std::uint64_t> edge_key = {};
};

}  // namespace wb::engine
