// SPDX-License-Identifier: MIT
// sdpa_workbench._core: the engine for the Python package, which alone uses it. Every wait is
// without the GIL; what Python must do (signals, progress, exceptions) happens in the caller's
// thread.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <thread>

#include "cli/output.hpp"
#include "core/error.hpp"
#include "engine/verb.hpp"
#include "engine_thread.hpp"
#include "json_python.hpp"
#include "simulating.hpp"

namespace py = pybind11;

namespace wb::python {
namespace {

/// How often a waiting caller looks for Ctrl-C.
constexpr auto k_slice = std::chrono::milliseconds(50);

[[noreturn]] void raise(const Error& error) {
  const auto made = py::module_::import("sdpa_workbench.errors")
                        .attr("make")(to_string(error.code), error.message(), error.attempted,
                                      printable(error.subject, 4096), error.cause, error.next);
  PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
  throw py::error_already_set();
}

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

/// What the program says to a question of the engine: a dict, or {error: {…}}. Needs the GIL; what
/// else it raises passes through.
Result<Json> answer_of(const py::object& program, const Json& question) {
  if (program.is_none()) {
    return Error{ErrorCode::usage, "ask", "the program", "nobody answers for it",
                 "call the verb as a method of Session or Workbench"};
  }
  WB_TRY_ASSIGN(Json answer, json_from_python(program(python_from_json(question)), "an answer"));
  const auto error = answer.find("error");
  if (error == answer.end()) return answer;
  return Error{parse_error_code(error->value("code", "")).value_or(ErrorCode::internal),
               error->value("attempted", ""), error->value("subject", ""),
               error->value("cause", ""), error->value("next", "")};
}

class PyEngine;
std::set<PyEngine*>& live_engines() {
  static std::set<PyEngine*> engines;  // under the GIL; what is left at exit is closed there
  return engines;
}

class PyEngine {
 public:
  explicit PyEngine(GlobalOptions options)
      : m_thread(std::make_shared<EngineThread>(std::move(options))), m_process(getpid()) {
    live_engines().insert(this);
  }
  ~PyEngine() {
    live_engines().erase(this);
    m_waiting = std::thread::id();  // a destructor must not raise
    close();
  }
  PyEngine(const PyEngine&) = delete;
  PyEngine& operator=(const PyEngine&) = delete;

  /// Stops what runs and waits until nobody uses the engine any more.
  void close() {
    refuse_callbacks();
    std::shared_ptr<EngineThread> ending = std::exchange(m_thread, nullptr);
    if (!ending) return;
    if (getpid() != m_process) {
      // After fork: the thread is the parent's, and so is all that it holds. Never destroyed.
      (void)new std::shared_ptr<EngineThread>(std::move(ending));
      return;
    }
    const py::gil_scoped_release release;
    ending->request_stop();
    while (ending.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ending.reset();
  }

  py::object call(const std::string& verb, const py::object& args, const fs::path& session,
                  const std::optional<std::string>& request_id, const py::object& progress,
                  const py::object& program) {
    const Json given = value_or_raise(json_from_python(args, "the arguments of " + verb));
    return run(
        [=](Engine& engine) -> Result<Json> {
          if (auto other = other_session(engine, session)) return *other;
          return engine.call(verb, given, session, request_id);
        },
        progress, program);
  }

  py::object evaluate(const py::object& request, const py::object& progress) {
    const Json given = value_or_raise(json_from_python(request, "the request"));
    return run([=](Engine& engine) { return engine.evaluate(given); }, progress);
  }

  py::object pause(const std::string& reason) {
    return run(
        [=](Engine& engine) -> Result<Json> {
          WB_TRY(engine.pause(reason));
          return Json(nullptr);
        },
        py::none());
  }

  py::object open_playbook(const py::object& open_args, const fs::path& session,
                           const std::string& path, const std::string& source,
                           const py::object& args, std::uint64_t seed, const py::object& progress) {
    const Json open = value_or_raise(json_from_python(open_args, "the arguments of open"));
    const Json own = value_or_raise(json_from_python(args, "the playbook's arguments"));
    return run(
        [=](Engine& engine) -> Result<Json> {
          // Recorded before the baseline, so that a session killed during it knows its playbook.
          engine.on_opened(
              [=, held = &engine] { return held->start_playbook(path, source, own, seed, false); });
          return engine.call("open", open, session);
        },
        progress);
  }

  py::object resume_playbook(const fs::path& session, const std::string& path,
                             const std::string& source, const py::object& args, std::uint64_t seed,
                             bool replan, const py::object& progress) {
    const Json own = value_or_raise(json_from_python(args, "the playbook's arguments"));
    return run(
        [=](Engine& engine) -> Result<Json> {
          WB_TRY_ASSIGN(const std::int64_t abandoned, engine.resume_session(session));
          WB_TRY(engine.start_playbook(path, source, own, seed, replan));
          return Json{{"session", session.string()}, {"abandoned", abandoned}};
        },
        progress);
  }

  py::object playbook_call(const std::string& verb, const py::object& args,
                           const py::object& progress, const py::object& program) {
    const Json given = value_or_raise(json_from_python(args, "the arguments of " + verb));
    return run(
        [=](Engine& engine) -> Result<Json> {
          if (engine.session() == nullptr) {
            return Error{ErrorCode::usage, "call", verb, "no session is held any more",
                         "resume it"};
          }
          return engine.playbook_call(verb, given);
        },
        progress, program);
  }

  py::object replaying() {
    return run([](Engine& engine) -> Result<Json> { return Json(engine.replaying()); }, py::none());
  }

  void stop() const {
    if (m_thread && getpid() == m_process) m_thread->request_stop();
  }

  [[nodiscard]] std::optional<fs::path> session() const {
    if (!m_thread || getpid() != m_process) return std::nullopt;
    const fs::path folder = m_thread->held_session();
    return folder.empty() ? std::nullopt : std::optional(folder);
  }

 private:
  /// An engine works for the session that it holds and no other.
  static std::optional<Error> other_session(const Engine& engine, const fs::path& asked) {
    if (engine.session() == nullptr || asked.empty()) return std::nullopt;
    std::error_code error;
    const fs::path& held = engine.session()->folder();
    if (fs::weakly_canonical(held, error) == fs::weakly_canonical(asked, error))
      return std::nullopt;
    return Error{ErrorCode::usage, "work in", asked.string(),
                 "this engine holds the session " + held.string(),
                 "make another engine for another session"};
  }

  /// A callback runs in the middle of a call of its own thread, which would wait for itself.
  void refuse_callbacks() const {
    if (m_waiting != std::this_thread::get_id()) return;
    raise(Error{ErrorCode::usage, "use", "the engine",
                "this is called while it works, from its progress callback",
                "raise an exception or call stop() to end the verb"});
  }

  std::shared_ptr<EngineThread> usable() const {
    refuse_callbacks();
    if (getpid() != m_process) {
      raise(Error{ErrorCode::usage, "use", "the engine",
                  "it belongs to the process that this one was forked from",
                  "make a new one here, or start processes by the method \"spawn\""});
    }
    if (m_thread) return m_thread;
    raise(Error{ErrorCode::usage, "use", "the engine", "it is closed", "make a new one"});
  }

  /// Ctrl-C or an exception of a callback stops the task; it is raised when that has ended.
  /// `program` answers what the engine asks (engine/program.hpp).
  py::object run(const EngineThread::Task& task, const py::object& progress,
                 const py::object& program = py::none()) {
    const std::shared_ptr<EngineThread> thread = usable();
    while (true) {
      bool posted = false;
      {
        const py::gil_scoped_release release;
        posted = thread->post(task, k_slice);
      }
      if (posted) break;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!m_thread) (void)usable();  // closed meanwhile
    }
    m_waiting = std::this_thread::get_id();
    std::optional<py::error_already_set> raised;
    for (bool done = false; !done;) {
      std::vector<Json> news;
      {
        const py::gil_scoped_release release;
        done = thread->wait(k_slice, news);
      }
      if (raised) continue;
      try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        for (const Json& item : news) {
          if (!progress.is_none()) progress(python_from_json(item));
        }
        if (auto question = thread->take_question()) {
          thread->reply(answer_of(program, *question));
        }
      } catch (py::error_already_set& error) {
        raised.emplace(error);
        thread->request_stop();
      }
    }
    m_waiting = std::thread::id();
    Result<Json> answer = thread->take_answer();
    if (raised) throw *raised;
    return python_from_json(value_or_raise(std::move(answer)));
  }

  std::shared_ptr<EngineThread> m_thread;
  pid_t m_process;
  std::thread::id m_waiting;  ///< whose call runs; under the GIL
};

GlobalOptions make_options(const fs::path& programs, const py::kwargs& given) {
  GlobalOptions options;
  options.programs = programs;
  const auto take = [&](const char* name, auto& value) {
    if (!given.contains(name) || given[name].is_none()) return;
    value = given[name].cast<std::decay_t<decltype(value)>>();
  };
  take("path", options.paths);
  take("sessions", options.sessions_root);
  take("cache", options.cache);
  take("compiler", options.compiler);
  take("nvcc", options.nvcc);
  take("host_compiler", options.host_compiler);
  take("allow_include", options.allowed_includes);
  take("python", options.python);
  take("worker", options.worker);
  take("transport", options.transport);
  take("gpu", options.gpu);
  take("threads", options.threads);
  take("cpu_set", options.cpu_set);
  return options;
}

void close_all() {
  while (!live_engines().empty()) {
    PyEngine* engine = *live_engines().begin();
    live_engines().erase(engine);
    engine->close();
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The engine of the SDPA Workbench; use the package's own classes instead.";
  module.attr("__version__") = WB_VERSION;
  module.def(
      "verb_table", [] { return python_from_json(verb_table_json()); },
      "The verb table: one dict a verb.");
  module.def(
      "check_arguments",
      [](const std::string& name, const py::object& args) {
        const VerbSpec* verb = find_verb(name);
        if (verb == nullptr) {
          raise(Error{ErrorCode::usage, "look for the verb", printable(name), "there is none", ""});
        }
        const Json given = value_or_raise(json_from_python(args, "the arguments of " + name));
        return python_from_json(value_or_raise(check_arguments(*verb, given)));
      },
      py::arg("verb"), py::arg("args"), "The arguments as the verb would take them, or its error.");
  module.def(
      "error_codes",
      [] {
        py::list words;
        for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
          words.append(to_string(static_cast<ErrorCode>(code)));
        }
        return words;
      },
      "The word of every kind of error.");

  module.def(
      "simulate",
      [](const fs::path& recording, const py::dict& options, const py::object& program) {
        const Json given = value_or_raise(json_from_python(options, "the options"));
        const auto ask = [&](const Json& question) {
          const py::gil_scoped_acquire acquire;
          return answer_of(program, question);
        };
        const auto simulated = [&] {
          const py::gil_scoped_release release;
          return simulate_recording(recording, given, ask);
        };
        return python_from_json(value_or_raise(simulated()));
      },
      py::arg("recording"), py::arg("options"), py::arg("program") = py::none(),
      "Runs a strategy on a recorded space.");

  py::class_<PyEngine>(module, "Engine", "One engine on a thread of its own.")
      .def(py::init([](const fs::path& programs, const py::kwargs& options) {
             return std::make_unique<PyEngine>(make_options(programs, options));
           }),
           py::arg("programs"))
      .def("call", &PyEngine::call, py::arg("verb"), py::arg("args"), py::arg("session") = "",
           py::arg("request_id") = py::none(), py::arg("progress") = py::none(),
           py::arg("program") = py::none())
      .def("evaluate", &PyEngine::evaluate, py::arg("request"), py::arg("progress") = py::none())
      .def("pause", &PyEngine::pause, py::arg("reason"))
      .def("open_playbook", &PyEngine::open_playbook, py::arg("open_args"), py::arg("session"),
           py::arg("path"), py::arg("source"), py::arg("args"), py::arg("seed"),
           py::arg("progress") = py::none())
      .def("resume_playbook", &PyEngine::resume_playbook, py::arg("session"), py::arg("path"),
           py::arg("source"), py::arg("args"), py::arg("seed"), py::arg("replan") = false,
           py::arg("progress") = py::none())
      .def("playbook_call", &PyEngine::playbook_call, py::arg("verb"), py::arg("args"),
           py::arg("progress") = py::none(), py::arg("program") = py::none())
      .def("replaying", &PyEngine::replaying)
      .def("stop", &PyEngine::stop)
      .def("close", &PyEngine::close)
      .def_property_readonly("session", &PyEngine::session)
      .def("__reduce__", [](const PyEngine&) -> py::object {
        throw py::type_error("an Engine holds a thread and a lock and cannot be pickled");
      });
  py::module_::import("atexit").attr("register")(py::cpp_function(&close_all));
}

}  // namespace wb::python
