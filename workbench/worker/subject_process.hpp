// SPDX-License-Identifier: MIT
// SubjectProcess: the supervisor's side of one subject. It asks, waits no longer than the deadline,
// trusts no answer, and turns every failure into a Failure with the child's last output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/inputs.hpp"
#include "worker/child.hpp"
#include "worker/hand_over.hpp"
#include "worker/memory.hpp"
#include "worker/standstill.hpp"

namespace wb::worker {

/// The deadline and cancel source of a request to a subject.
struct Wait {
  Deadline deadline;
  CancelSource cancel;
};

enum class SubjectKind { native, python };

/// The outputs of a subject on the CPU, as mapped in its process.
struct SubjectOutputs {
  std::string key;  ///< problem, placement and whether an LSE is wanted
  OutputMemory out;
  std::optional<OutputMemory> lse;
};

/// Limit for each process, between its turns; a session has one process for each rival too.
inline constexpr std::size_t k_kept_shown_bytes = 128u << 20;

class SubjectProcess {
 public:
  /// Starts the process, which does nothing before load(). `label` is for messages.
  static Result<SubjectProcess> start(ChildRegistry& registry, const ChildSpec& spec,
                                      SubjectKind kind);

  /// Sends one message and waits for its answer. Failures: the subject's own (constraints,
  /// runtime); runtime for a crash, an early end or garbage; timeout at the deadline; environment
  /// when canceled. After any failure but constraints the process is dead.
  Outcome<Json> ask(Json message, std::span<const int> fds, const Wait& wait);
  /// Sends only; more() receives the answer.
  Outcome<void> tell(Json message, std::span<const int> fds);
  /// Asks for an answer after which the subject stops itself (SIGSTOP); its time ends there, since
  /// none of its code runs from then on. more() returns the answer; the process stays stopped until
  /// go_on(). Returns the time at which the stop was seen.
  Outcome<Deadline> ask_to_stop(Json message, const Wait& wait);
  void go_on() const;
  /// The answer to the last message, or a further one.
  Outcome<Json> more(const Wait& wait);
  /// The last outputs, if they are kept between turns; or null.
  [[nodiscard]] const std::shared_ptr<SubjectOutputs>& outputs() const { return m_outputs; }
  void keep_outputs(std::shared_ptr<SubjectOutputs> outputs) { m_outputs = std::move(outputs); }
  /// The placing of its next output: drawn for the first, then alternating, so that a verdict has
  /// both.
  Placing next_placing();
  /// Stops all its processes. Failures: runtime, when one of them would not stop or ended.
  Outcome<Standstill> stand_still();
  /// The memory to which a subject on a GPU copies an output. Each subject has its own, since it
  /// may keep the mapping; up to k_kept_shown_bytes are kept while the size stays the same, since
  /// allocation takes longer than most turns. Old content is of other inputs. Failures:
  /// environment.
  Outcome<std::shared_ptr<const SharedMemory>> shown_memory(std::size_t size_bytes);
  /// On a GPU: the judge's memory that its present stage writes to.
  Borrowed& borrowed() { return m_borrowed; }
  /// The result of is_busy_when_idle() (turn_watch.hpp), once it was determined.
  std::optional<bool>& busy_when_idle() { return m_is_busy_when_idle; }
  /// Fails when the subject has sent an unrequested message.
  Outcome<void> expect_silence();

  [[nodiscard]] SubjectKind kind() const { return m_kind; }
  [[nodiscard]] pid_t pid() const { return m_child.pid(); }
  [[nodiscard]] bool alive() const { return m_child.pid() > 0; }
  /// CPU time of all processes that it started, as far as they are known.
  [[nodiscard]] std::chrono::nanoseconds helpers_time() const;
  /// CPU time of its main thread; nothing when unknown.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> main_thread_time() const;
  /// Nanoseconds that its main thread was ready but not running, since other work had the CPUs.
  [[nodiscard]] std::int64_t main_thread_delay_ns() const;
  /// The same, summed over all its threads.
  [[nodiscard]] std::int64_t all_threads_delay_ns() const;
  void kill() { m_child.kill(); }
  /// Sends SIGKILL and returns whether it ended by the deadline; the destructor does the rest.
  bool kill_by(Deadline deadline) { return m_child.kill_by(deadline); }
  [[nodiscard]] std::string captured() const { return m_child.captured(); }
  /// Ends the process and returns a failure with its output.
  Failure fail(Invalidity invalidity, std::string message);

 private:
  SubjectProcess(Child child, SubjectKind kind, std::int64_t memory_kills)
      : m_child(std::move(child)), m_kind(kind), m_memory_kills(memory_kills) {}
  Outcome<Json> accept(const Message& message);
  Failure explain(ChannelFault fault);

  Child m_child;
  SubjectKind m_kind;
  std::int64_t m_memory_kills;  ///< of the machine, when the process was started
  std::int64_t m_number = 0;    ///< of the last message; an answer repeats it
  std::string m_op;
  std::optional<Message> m_held;  ///< received while waiting for the stop
  std::shared_ptr<const SharedMemory> m_shown;
  Borrowed m_borrowed;
  std::shared_ptr<SubjectOutputs> m_outputs;
  Placing m_placing = draw_placing();
  std::optional<bool> m_is_busy_when_idle;
};

/// Lets a subject continue at the end of a scope.
class ResumeOnExit {
 public:
  explicit ResumeOnExit(const SubjectProcess& subject) : m_subject(subject) {}
  ResumeOnExit(const ResumeOnExit&) = delete;
  ResumeOnExit& operator=(const ResumeOnExit&) = delete;
  ~ResumeOnExit() { m_subject.go_on(); }

 private:
  const SubjectProcess& m_subject;
};

/// The same delay for this process's main thread.
std::int64_t own_delay_ns();

}  // namespace wb::worker
