// SPDX-License-Identifier: MIT
// The worker that a context measures with, the environment of a session, recorded when it opens,
// and the differences between the circumstances of two measurements (`diff`, `reproduce`,
// `resume`): device, CPU set, tools, versions, suite, effort. Calibrated peaks are left out: they
// vary by day and identify nothing.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "protocol/protocol.hpp"
#include "runner/worker_client.hpp"
#include "session/view.hpp"

namespace wb::engine {

struct Context;

/// The worker of a context, which starts on first use, and the device that it measures on.
class Worker {
 public:
  explicit Worker(Context& context) : m_context(context) {}

  std::optional<runner::WorkerClient> client;  ///< empty before its first use and after drop()
  std::optional<protocol::HelloResult> hello;
  /// The device of the first hello; written once, so that build threads may read it.
  std::optional<device::Device> device;
  bool fits = false;  ///< the worker's hello matches what this session asks for
  /// The end of the last sustained turn.
  std::optional<std::chrono::steady_clock::time_point> last_sustained;

  /// The running worker, started on first use or after it died, on the device that the session or
  /// use_device_of() asks for. Failure: environment.
  Outcome<runner::WorkerClient*> need();
  /// Outside a session the variant decides between CPU and GPU; a worker on the other device is
  /// ended. Inside one the session decides.
  void use_device_of(const variant::Manifest& manifest);
  /// Decides by a backend, "cpu" or "cuda". A session keeps its own.
  void use_backend(std::string_view backend);
  /// Ends the worker; time spent waiting for it stays to be debited.
  void drop();

 private:
  /// The hello to send: as the held session recorded it, else as the caller asks.
  [[nodiscard]] protocol::HelloArgs wanted_hello() const;

  Context& m_context;
  protocol::HelloArgs m_hello_args;  ///< the arguments of the worker's hello
};

/// A word for people ("device", "compiler", "effort" …) -> its value. Absent facts are "".
using Circumstances = std::map<std::string, std::string>;

/// From the payload of environment_recorded (docs/contracts/events.md).
Circumstances circumstances_of_environment(const Json& environment);
/// Also includes suite, objective, effort, workbench version and rivals' versions.
Circumstances circumstances_of(const session::SessionView& view);

struct Change {
  std::string what, before, after;
};
/// Sorted by word. A fact that one side did not record is no change.
std::vector<Change> changes_between(const Circumstances& before, const Circumstances& after);
Json to_json(const std::vector<Change>& changes);
/// "- compiler: g++ 12.2 -> g++ 13.1\n" each.
std::string to_lines(const std::vector<Change>& changes);

/// `asked`, with the CPUs and threads of the session's `environment` if it names none, so that all
/// steps are measured alike. A CPU set outside `allowed`, this process's CPUs, is not asked for;
/// `resume` reports the change.
protocol::HelloArgs as_recorded(protocol::HelloArgs asked, const Json& environment,
                                const std::vector<int>& allowed);

/// The payload of environment_recorded for the present environment; starts the worker. Errors:
/// environment.
Result<Json> environment_json(Context& context);

/// Differences from the environment that the held session recorded, each as "compiler: a -> b";
/// starts the worker. Errors: environment, also for a different device, to which the session's
/// noise floors and baseline do not apply.
Result<std::vector<std::string>> environment_since_open(Context& context);

}  // namespace wb::engine
