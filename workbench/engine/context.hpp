// SPDX-License-Identifier: MIT
// What the stages of one verb share: the session that is held, and the services. The worker, what
// the session has spent and the session that was read last are parts with headers of their own
// (worker.hpp, spending.hpp, recorded.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "session/session.hpp"

namespace wb::engine {

class RecentSession;  // recorded.hpp
class Spending;       // spending.hpp
class Worker;         // worker.hpp

/// State of one session: the held one, or the defaults for calls outside a session.
struct HeldSession {
  std::optional<session::Session> session;
  SessionSettings settings;
  NoiseFloors floors;
  /// Floors that cannot serve, with the reason; and how often each was measured again by itself.
  std::map<std::pair<std::string, std::string>, std::string> unfit_floors;
  std::map<std::pair<std::string, std::string>, int> floor_renewals;
  std::optional<Subject> incumbent;
  std::vector<Subject> rivals;  ///< rivals that passed their verdict
  std::int64_t iteration = -1;  ///< iteration of the events being logged; -1 outside
  bool device_checked = false;  ///< device compared with the one that the session recorded
  /// Subjects and problems whose launches the log has; empty until it was asked.
  std::optional<std::set<std::pair<std::string, std::string>>> with_launches;
};

struct Context : HeldSession {
  explicit Context(Services given);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Services services;
  variant::ArtifactCache cache;
  variant::Catalogue catalogue;
  std::chrono::steady_clock::time_point started;
  std::function<Result<void>()> on_opened;  ///< consumed by the next open
  const std::unique_ptr<Worker> worker;
  const std::unique_ptr<Spending> spending;
  const std::unique_ptr<RecentSession> recent;

  /// Releases the held session; later calls see nothing of it, nor pay for it. The worker is kept
  /// if the next call wants the same hello.
  void let_go();
  /// The number of the running iteration; null outside, where `check`, `measure` and `compare` also
  /// log.
  [[nodiscard]] Json iteration_or_null() const;
  /// Appends to the session's log; without a session it keeps nothing and returns seq 0.
  Result<std::int64_t> log(std::string_view type, Json payload);
  Result<void> check_stop() const;  ///< canceled once a stop was requested
  void report_progress(Progress progress) const;
  [[nodiscard]] double elapsed_s() const;  ///< since session_opened
};

/// Fills incumbent, rivals and floors from a log with a closed baseline.
Result<void> restore_context(Context& context);

}  // namespace wb::engine
