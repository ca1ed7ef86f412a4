// SPDX-License-Identifier: MIT
// What the stages of one verb share: services, the held session, the worker, this process's ledger.
// Values that pass between stages are in the headers of the stages.
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

/// Caches the last session that was read. Clients poll the same session, so its log is read and
/// folded once and then only extended.
class RecentSession {
 public:
  /// The session in `folder` as it is now; valid until the next call. A log that was changed, not
  /// just appended to, is read again from its start. Errors: as Session::open_reader().
  Result<const session::Session*> read(FileSystem& file_system, const fs::path& folder);

 private:
  std::optional<session::Session> m_session;
  fs::path m_asked;  ///< the path it was asked for by: an archive has two
};

/// State of one session: the held one, or the defaults for calls outside a session.
struct HeldSession {
  std::optional<session::Session> session;
  SessionSettings settings;
  NoiseFloors floors;
  /// Floors that cannot serve, with the reason; and how often each was measured again by itself.
  std::map<std::pair<std::string, std::string>, std::string> unfit_floors;
  std::map<std::pair<std::string, std::string>, int> floor_renewals;
  std::optional<Subject> incumbent;
  std::vector<Subject> rivals;                ///< rivals that passed their verdict
  std::int64_t iteration = -1;                ///< iteration of the events being logged; -1 outside
  std::map<std::string, double> undebited_s;  ///< worker wall time by verb, not yet in the ledger
  session::Ledger spent;                      ///< by this process; for progress only
  std::optional<double> best_speedup;         ///< confirmed, over the start; for progress only
  double reported_budget_share = 0;           ///< see milestones.hpp
  bool device_checked = false;  ///< device compared with the one that the session recorded
  bool worker_fits = false;     ///< the worker's hello matches what this session asks for
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
  protocol::HelloArgs hello_args;  ///< the arguments of the worker's hello
  std::optional<protocol::HelloResult> hello;
  /// The device of the first hello; written once, so that build threads may read it.
  std::optional<device::Device> device;
  std::chrono::steady_clock::time_point started;
  RecentSession recent;                     ///< last session that was read and is not held
  std::function<Result<void>()> on_opened;  ///< consumed by the next open
  /// The end of the last sustained turn.
  std::optional<std::chrono::steady_clock::time_point> last_sustained;

  /// Releases the held session; later calls see nothing of it. The worker is kept if the next call
  /// wants the same hello.
  void let_go();
  /// The number of the running iteration; null outside, where `check`, `measure` and `compare` also
  /// log.
  [[nodiscard]] Json iteration_or_null() const;
  /// Appends to the session's log; without a session it keeps nothing and returns seq 0.
  Result<std::int64_t> log(std::string_view type, Json payload);
  Result<void> check_stop() const;  ///< canceled once a stop was requested
  void report_progress(Progress progress) const;
  /// The running worker, started on first use or after it died, on the device that the session or
  /// use_device_of() asks for. Failure: environment.
  Outcome<runner::WorkerClient*> need_worker();
  /// Outside a session the variant decides between CPU and GPU; a worker on the other device is
  /// ended. Inside one the session decides.
  void use_device_of(const variant::Manifest& manifest);
  /// Decides by a backend, "cpu" or "cuda". A session keeps its own.
  void use_backend(std::string_view backend);
  /// The hello to send: as the held session recorded it, else as the caller asks.
  [[nodiscard]] protocol::HelloArgs wanted_hello() const;
  /// Ends the worker; time spent waiting for it stays to be debited.
  void drop_worker();
  void collect_worker_time();
  /// `parts`: seconds by purpose; may be null.
  Result<void> debit(session::CostItem item, double quantity_s, std::string_view what,
                     Json parts = {});
  /// Debits compile seconds, or the worker wall time since the last debit.
  Result<void> debit_compile(const variant::BuildRecord& record, std::string_view what);
  Result<void> debit_device(std::string_view what);
  [[nodiscard]] double elapsed_s() const;  ///< since session_opened
};

}  // namespace wb::engine
