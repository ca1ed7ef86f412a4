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
#include "worker/lent_output.hpp"
#include "worker/memory.hpp"
#include "worker/output_memory.hpp"
#include "worker/standstill.hpp"

namespace wb::worker {

/// What every request to a subject needs beside its message.
struct Wait {
  Deadline deadline;
  CancelSource cancel;
};

enum class SubjectKind { native, python };

/// The outputs of a subject on the CPU, as its process has them mapped.
struct SubjectOutputs {
  std::string key;  ///< problem, placement and whether an LSE is wanted
  OutputMemory out;
  std::optional<OutputMemory> lse;
};

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
  /// Asks what is answered by stopping: the subject sends its answer and then stops itself, and its
  /// time ends there, as nothing of it runs from then on. `answer` is that of more(); the process
  /// stays stopped until go_on(). Gives the time at which it was seen.
  Outcome<Deadline> ask_to_stop(Json message, const Wait& wait);
  void go_on() const;
  /// The answer to the last message, or a further one.
  Outcome<Json> more(const Wait& wait);
  /// Those that it was handed last, where they are worth keeping from turn to turn; or null.
  [[nodiscard]] const std::shared_ptr<SubjectOutputs>& outputs() const { return m_outputs; }
  void keep_outputs(std::shared_ptr<SubjectOutputs> outputs) { m_outputs = std::move(outputs); }
  /// Drawn for the first of its outputs, then the other one each time: a verdict has both.
  Placing next_placing();
  /// Stops all of its processes. Failures: runtime, when one of them would not stop or it ended.
  Outcome<Standstill> stand_still();
  /// Where a subject on a GPU shows an output: its own, as it may hold on to the memory, and up to
  /// k_kept_shown_bytes kept while the size stays, as making it takes longer than most turns. What
  /// stands in it from before is of other inputs. Failures: environment.
  Outcome<std::shared_ptr<const SharedMemory>> shown_memory(std::size_t size_bytes);
  /// On a GPU: the judge's memory that its stage writes to.
  Borrowed& borrowed() { return m_borrowed; }
  /// What is_restless() (idle_watch.hpp) said of it, once it was asked.
  std::optional<bool>& restless() { return m_is_restless; }
  /// Fails when the subject says more than it was asked.
  Outcome<void> expect_silence();

  [[nodiscard]] SubjectKind kind() const { return m_kind; }
  [[nodiscard]] pid_t pid() const { return m_child.pid(); }
  [[nodiscard]] bool alive() const { return m_child.pid() > 0; }
  /// CPU time of all processes that it started, as far as they are not forgotten.
  [[nodiscard]] std::chrono::nanoseconds helpers_time() const;
  /// CPU time that its main thread took; nothing where the kernel does not tell.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> main_thread_time() const;
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
  SubjectProcess(Child child, SubjectKind kind, std::int64_t memory_kills)
      : m_child(std::move(child)), m_kind(kind), m_memory_kills(memory_kills) {}
  Outcome<Json> accept(const Message& message);
  Failure explain(ChannelFault fault);

  Child m_child;
  SubjectKind m_kind;
  std::int64_t m_memory_kills;  ///< of the machine when it was started
  std::int64_t m_number = 0;    ///< of the last message; an answer repeats it
  std::string m_op;
  std::optional<Message> m_held;  ///< came while it was waited for to stop
  std::shared_ptr<const SharedMemory> m_shown;
  Borrowed m_borrowed;
  std::shared_ptr<SubjectOutputs> m_outputs;
  Placing m_placing = draw_placing();
  std::optional<bool> m_is_restless;
};

/// Lets a subject go on at the end of a scope, whatever happened there.
class GoOn {
 public:
  explicit GoOn(const SubjectProcess& subject) : m_subject(subject) {}
  GoOn(const GoOn&) = delete;
  GoOn& operator=(const GoOn&) = delete;
  ~GoOn() { m_subject.go_on(); }

 private:
  const SubjectProcess& m_subject;
};

/// Of this process's main thread.
std::int64_t own_delay_ns();

}  // namespace wb::worker
