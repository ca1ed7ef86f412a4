// SPDX-License-Identifier: MIT
// The class Engine of sdpa_workbench._core. It waits without the GIL; Python's part (signals,
// progress, exceptions) runs in the caller's thread.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/files.hpp"
#include "engine_thread.hpp"

namespace wb::python {

/// An engine on its own thread, for the process that made it. Its methods need the GIL and raise
/// errors of sdpa_workbench.errors; a callback of a running call cannot call close() or methods
/// that run something. Ctrl-C or an exception of a callback stops the call and is raised when the
/// call has ended. `progress`: None or called with each event; `program`: None or called with the
/// engine's questions (search/program.hpp).
class PyEngine {
 public:
  explicit PyEngine(cli::GlobalOptions options);
  ~PyEngine();
  PyEngine(const PyEngine&) = delete;
  PyEngine& operator=(const PyEngine&) = delete;

  /// Stops the running call and waits until no caller uses the engine.
  void close();
  /// Closes all open engines, at exit.
  static void close_all();

  /// Makes the engine, which the first call would make otherwise, and refuses wrong options.
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
  /// The folder of the session that the engine holds.
  [[nodiscard]] std::optional<fs::path> session() const;

 private:
  /// Whether the process is a fork of the one that made the engine, without its thread.
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
