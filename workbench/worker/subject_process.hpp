// SPDX-License-Identifier: MIT
// SubjectProcess: the supervisor's side of one subject. It asks, waits no longer than the deadline,
// believes nothing, and turns every way to fail into a Failure with the child's last words.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/invalidity.hpp"
#include "problem/inputs.hpp"
#include "worker/child.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

/// What every request to a subject needs beside its message.
struct Wait {
  Deadline deadline;
  CancelSource cancel;
};

enum class SubjectKind { native, python };

/// Of each process, between its turns; a session has one for each rival too.
inline constexpr std::size_t k_kept_shown_bytes = 128u << 20;

class SubjectProcess {
 public:
  /// Starts the process; it does nothing before load(). `label` is for messages.
  static Result<SubjectProcess> start(Family& family, const ChildSpec& spec, SubjectKind kind);

  /// One message and its answer. Failures: what the subject says of itself (constraints, runtime);
  /// runtime for a crash, an early end or garbage; timeout at the deadline; environment when
  /// canceled. After any failure but constraints the process is dead.
  Outcome<Json> ask(Json message, std::span<const int> fds, const Wait& wait);
  /// Its first half: the answer is that of more().
  Outcome<void> tell(Json message, std::span<const int> fds);
  /// The answer to the last message, or a further one.
  Outcome<Json> more(const Wait& wait);
  /// Where it shows an output: its own, as it may hold on to the memory, and up to
  /// k_kept_shown_bytes kept while the size stays, as making it takes longer than most turns. What
  /// stands in it from before is of other inputs. Failures: environment.
  Outcome<std::shared_ptr<const SharedMemory>> shown_memory(std::size_t size_bytes);
  /// Fails when the subject says more than it was asked.
  Outcome<void> expect_silence();

  [[nodiscard]] SubjectKind kind() const { return m_kind; }
  [[nodiscard]] pid_t pid() const { return m_child.pid(); }
  [[nodiscard]] bool alive() const { return m_child.pid() > 0; }
  /// Nanoseconds that its main thread spent ready but not running: other work had the CPUs.
  [[nodiscard]] std::int64_t main_thread_delay_ns() const;
  /// The same, summed over all its threads.
  [[nodiscard]] std::int64_t all_threads_delay_ns() const;
  void kill() { m_child.kill(); }
  /// Sends SIGKILL. Whether it ended by the deadline; what is left is done when this goes.
  bool kill_by(Deadline deadline) { return m_child.kill_by(deadline); }
  [[nodiscard]] std::string captured() const { return m_child.captured(); }
  /// Ends the process and gives a failure with its output.
  Failure fail(Invalidity invalidity, std::string message);

 private:
  SubjectProcess(Child child, SubjectKind kind) : m_child(std::move(child)), m_kind(kind) {}
  Outcome<Json> accept(const Message& message);
  Failure explain(ChannelFault fault);

  Child m_child;
  SubjectKind m_kind;
  std::int64_t m_number = 0;  ///< of the last message; an answer repeats it
  std::string m_op;
  std::shared_ptr<const SharedMemory> m_shown;
};

/// Of this process's main thread.
std::int64_t own_delay_ns();

}  // namespace wb::worker
