// SPDX-License-Identifier: MIT
// EngineThread: one engine and its thread, for Python, but without use of Python: a caller posts a
// task and waits in slices, so that it can handle signals and progress in between.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/services.hpp"
#include "core/json.hpp"
#include "engine/engine.hpp"

namespace wb::python {

/// The engine is made, used and destroyed on its own thread: workers die with the thread that
/// started them, which must not be a Python thread.
class EngineThread {
 public:
  using Task = std::function<Result<Json>(engine::Engine&)>;

  explicit EngineThread(cli::GlobalOptions options);
  /// Stops what runs, as request_stop(), waits for it and ends the thread.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  /// Takes the engine for one task; false when another task still has it after `patience`.
  bool post(const Task& task, std::chrono::milliseconds patience);
  /// Waits for the end of the posted task, for news, a question or for `patience`; true at the end.
  /// News since the last call are added to `news`: maps with `kind` "progress" or "milestone".
  bool wait(std::chrono::milliseconds patience, std::vector<Json>& news);
  /// The engine's question to the program, once; the engine waits until reply().
  std::optional<Json> take_question();
  void reply(Result<Json> answer);
  /// The answer of the ended task, once; then the engine is free for the next task.
  Result<Json> take_answer();

  /// Stops a running task: its iteration is closed as abandoned, the session is paused and its lock
  /// released. The task then answers `canceled`.
  void request_stop();
  /// The folder of the session that the engine held when its last task ended; empty: none.
  [[nodiscard]] fs::path held_session() const;

 private:
  void serve();
  void tell(Json news);
  /// The engine's side of take_question() and reply(). Errors: the program's; canceled.
  Result<Json> ask(const Json& question);
  Result<Json> answer_to(std::optional<engine::Engine>& engine, const Task& task);
  engine::Services services();
  /// After a stop and some grace: ends the children that hold the task up. Needs m_mutex.
  void hurry();

  const cli::GlobalOptions m_options;
  const std::string m_name;  ///< of the thread and, inherited, of those that it starts
  RealFileSystem m_file_system;
  const RealClock m_clock;
  std::atomic<bool> m_stop{false};

  mutable std::mutex m_mutex;
  std::condition_variable m_changed;
  bool m_ending = false, m_taken = false;
  std::optional<Task> m_task;
  std::optional<Result<Json>> m_answer;
  std::deque<Json> m_news;
  std::optional<Json> m_question;
  std::optional<Result<Json>> m_reply;
  fs::path m_session;
  std::optional<std::chrono::steady_clock::time_point> m_hurry_at;
  std::thread m_thread;  // last member: it uses all others
};

}  // namespace wb::python
