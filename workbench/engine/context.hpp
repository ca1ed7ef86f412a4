// SPDX-License-Identifier: MIT
// What the stages of one verb share: services, the held session, the worker, the ledger of this
// process. Values that pass between the stages stand in the headers of the stages.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "runner/worker_client.hpp"
#include "session/session.hpp"

namespace wb::engine {

/// The session that was read last. Whoever polls one asks for it again, so its log is read and
/// folded once and grows from there.
class RecentSession {
 public:
  /// The session below `folder` as it is now; valid until the next call. A log that was changed,
  /// and not appended to, is read anew as a whole. Errors: as Session::open_reader().
  Result<const session::Session*> read(FileSystem& file_system, const fs::path& folder);

 private:
  std::optional<session::Session> m_session;
  fs::path m_asked;  ///< what named it: an archive's name may be given in two ways
};

/// What is true of one session alone: the one that is held, or what a call outside of any works
/// with.
struct HeldSession {
  std::optional<session::Session> session;
  SessionSettings settings;
  NoiseFloors floors;
  /// Which of them cannot serve, and why; how often each was taken again by itself.
  std::map<std::pair<std::string, std::string>, std::string> unfit_floors;
  std::map<std::pair<std::string, std::string>, int> floor_renewals;
  std::optional<Subject> incumbent;
  std::vector<Subject> rivals;                ///< those that passed their verdict
  std::int64_t iteration = -1;                ///< of the events being logged; -1 outside
  std::map<std::string, double> undebited_s;  ///< worker wall time by verb, not in the ledger yet
  session::Ledger spent;                      ///< of this process; for progress only
  std::optional<double> best_speedup;         ///< confirmed, over the start; for progress only
  double told_budget_share = 0;               ///< see milestones.hpp
  bool device_checked = false;                ///< against the one that the session recorded
  bool worker_fits = false;                   ///< the worker was greeted as this session asks
};

struct Context : HeldSession {
  explicit Context(Services given)
      : services(std::move(given)),
        cache(services.file_system, services.cache_root),
        catalogue(services.file_system, services.search_path),
        started(services.clock.steady_now()) {}

  Services services;
  variant::ArtifactCache cache;
  variant::Catalogue catalogue;
  std::optional<runner::WorkerClient> worker;
  protocol::HelloArgs greeted_with;  ///< what the worker was asked for
  std::optional<protocol::HelloResult> hello;
  /// The device of the first greeting: written once, so that builder threads may read it.
  std::optional<device::Device> device;
  std::chrono::steady_clock::time_point started;
  RecentSession recent;                     ///< that is read and not held
  std::function<Result<void>()> on_opened;  ///< taken by the next open
  /// The end of the last sustained turn.
  std::optional<std::chrono::steady_clock::time_point> last_sustained;

  /// Releases the session that is held. What comes next sees nothing of it; a worker is kept where
  /// it is asked for in the same way.
  void let_go();
  /// The number of the iteration that runs; null outside, where `check`, `measure` and `compare`
  /// log too.
  [[nodiscard]] Json iteration_or_null() const;
  /// Appends to the session's log; without a session nothing is kept and the seq is 0.
  Result<std::int64_t> log(std::string_view type, Json payload);
  Result<void> check_stop() const;  ///< canceled once a stop was requested
  void report_progress(Progress progress) const;
  /// The running worker, started on first use or after it died, on the device that the session, or
  /// use_device_of(), asks for. Failure: environment.
  Outcome<runner::WorkerClient*> need_worker();
  /// Outside a session the variant says whether CPU or GPU is meant: a worker that measures on the
  /// other one is ended. Inside one the session has said so.
  void use_device_of(const variant::Manifest& manifest);
  /// The same for a backend, "cpu" or "cuda". A session keeps its own.
  void use_backend(std::string_view backend);
  /// How the worker is to be greeted: as the held session recorded, else as the caller asks.
  [[nodiscard]] protocol::HelloArgs wanted_greeting() const;
  /// Ends the worker; what it was waited for stays to be debited.
  void drop_worker();
  void collect_worker_time();
  /// `parts`: seconds by what they went to; may be null.
  Result<void> debit(session::CostItem item, double quantity_s, std::string_view what,
                     Json parts = {});
  /// Debits compile seconds, or the worker wall time since the last debit.
  Result<void> debit_compile(const variant::BuildRecord& record, std::string_view what);
  Result<void> debit_device(std::string_view what);
  [[nodiscard]] double elapsed_s() const;  ///< since session_opened
};

}  // namespace wb::engine
