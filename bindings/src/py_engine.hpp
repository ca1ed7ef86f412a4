// SPDX-License-Identifier: MIT
// The class Engine of sdpa_workbench._core. Every wait is without the GIL; what Python must do
// (signals, progress, exceptions) happens in the caller's thread.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/files.hpp"
#include "engine_thread.hpp"

namespace wb::python {

/// An engine on a thread of its own, for the process that made it. Its methods need the GIL and
/// raise what sdpa_workbench.errors has; those that run something, and close(), are refused from a
/// callback of a call that runs. Ctrl-C or an exception of a callback stops the call and is raised
/// when that has ended. `progress`: None or called with each event; `program`: None or what answers
/// the engine's questions (search/program.hpp).
class PyEngine {
 public:
  explicit PyEngine(cli::GlobalOptions options);
  ~PyEngine();
  PyEngine(const PyEngine&) = delete;
  PyEngine& operator=(const PyEngine&) = delete;

  /// Stops what runs and waits until nobody uses the engine any more.
  void close();
  /// The same for all that live, at exit.
  static void close_all();

  /// Makes the engine, else made by the first call: wrong options are refused here.
  void start();
  pybind11::object call(const std::string& verb, const pybind11::object& args,
                        const fs::path& session, const std::optional<std::string>& request_id,
                        const pybind11::object& progress, const pybind11::object& program);
  pybind11::object evaluate(const pybind11::object& request, const pybind11::object& progress);
  pybind11::object pause(const std::string& reason);
  pybind11::object open_playbook(const pybind11::object& open_args, const fs::path& session,
                                 const std::string& path, const std::string& source,
                                 const pybind11::object& args, std::uint64_t seed,
                                 const pybind11::object& progress);
  pybind11::object resume_playbook(const fs::path& session, const std::string& path,
                                   const std::string& source, const pybind11::object& args,
                                   std::uint64_t seed, bool replan,
                                   const pybind11::object& progress);
  pybind11::object playbook_call(const std::string& verb, const pybind11::object& args,
                                 const pybind11::object& progress, const pybind11::object& program);
  /// Whether calls of the playbook are answered from the log.
  pybind11::object replaying();

  void stop() const;
  /// The folder of the session that it holds.
  [[nodiscard]] std::optional<fs::path> session() const;

 private:
  /// The process is a fork of the one that made it: there its thread does not run.
  [[nodiscard]] bool is_forked() const;
  void refuse_callbacks() const;
  std::shared_ptr<EngineThread> usable() const;
  pybind11::object run(const EngineThread::Task& task, const pybind11::object& progress,
                       const pybind11::object& program = pybind11::none());

  std::shared_ptr<EngineThread> m_thread;
  pid_t m_process;
  std::thread::id m_waiting;  ///< whose call runs; under the GIL
};

}  // namespace wb::python
