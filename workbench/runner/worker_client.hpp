// SPDX-License-Identifier: MIT
// WorkerClient: the host's side of one worker, with one method per message. One request has one
// reply and one deadline. A dead or silent worker is an `environment` failure, never held against
// the variant.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "protocol/protocol.hpp"
#include "runner/transport.hpp"
#include "variant/builder.hpp"

namespace wb::runner {

/// Added to a message's own deadline before a silent worker is given up.
inline constexpr std::chrono::milliseconds k_reply_grace{75'000};
/// The same for requests that may first wait for the device behind another session
/// (docs/contracts/worker_protocol.md, "The device lock").
inline constexpr std::chrono::milliseconds k_queue_grace =
    protocol::k_lock_patience + std::chrono::seconds(15);

class WorkerClient {
 public:
  explicit WorkerClient(std::unique_ptr<Transport> transport);
  WorkerClient(WorkerClient&&) noexcept;
  WorkerClient& operator=(WorkerClient&&) noexcept;
  /// Says bye and closes the wire; the worker ends its children.
  ~WorkerClient();

  /// Must be the first call. A version mismatch is an environment failure that names both versions.
  Outcome<protocol::HelloResult> hello(const protocol::HelloArgs& args);

  /// Sends the artifact's bytes or, for Python, its `files` (content-addressed; nothing is sent
  /// twice) and starts a subject.
  Outcome<protocol::LoadResult> load(const variant::Variant& variant,
                                     const variant::Artifact& artifact,
                                     std::chrono::milliseconds deadline = std::chrono::seconds(60));
  /// Announces, with the next load of a Python subject, that `subjects` of them are loaded before
  /// any turn, so that the worker may start their processes in parallel.
  void announce_python(std::int64_t subjects) { m_python_announced = subjects; }
  Outcome<protocol::RunResult> run(const protocol::RunArgs& args);
  Outcome<protocol::VerdictResult> verdict(const protocol::VerdictArgs& args);
  Outcome<protocol::TurnResult> turn(const protocol::TurnArgs& args);
  Outcome<protocol::FirstCallsResult> first_calls(const protocol::FirstCallsArgs& args);
  Outcome<protocol::ProfileResult> profile(const protocol::ProfileArgs& args);
  Outcome<void> unload(std::int64_t handle);
  Outcome<protocol::CanaryResult> canary();
  Outcome<protocol::StatusResult> status();
  /// Compiles on the worker's machine (remote toolchain); the artifact stays in its store.
  Outcome<protocol::BuildResult> build(const variant::Variant& variant,
                                       const variant::Configuration& configuration,
                                       std::string_view build_id,
                                       const variant::BuildOptions& options);

  /// Wall time spent waiting for replies, by verb, since construction or the last call: the device
  /// time of the ledger.
  std::map<protocol::Verb, double> take_wall_s();
  [[nodiscard]] bool alive() const { return m_transport != nullptr; }
  /// The transport's description, also after the wire was closed.
  [[nodiscard]] const std::string& description() const { return m_description; }

 private:
  /// Bytes that the worker may already have; read only when it does not.
  struct Staged {
    std::string sha256;
    std::function<Result<std::string>()> read;
  };
  Outcome<Json> request(protocol::Verb verb, Json args, std::chrono::milliseconds deadline);
  Outcome<Json> exchange(const protocol::Request& message, std::chrono::milliseconds deadline);
  template <typename Answer>
  Outcome<Answer> ask(protocol::Verb verb, Json args, std::chrono::milliseconds deadline);
  Outcome<void> stage(const std::vector<Staged>& files);
  Outcome<void> put(const std::string& sha256, std::string_view bytes);
  /// Closes the wire for good; every later call fails with this reason.
  Failure abandon(std::string reason);

  std::unique_ptr<Transport> m_transport;
  std::string m_description;
  std::string m_gone_reason;  ///< why the transport was closed
  std::int64_t m_next_id = 1;
  std::int64_t m_python_announced = 0;  ///< announced and not loaded yet
  std::map<protocol::Verb, double> m_wall_s;
};

}  // namespace wb::runner
