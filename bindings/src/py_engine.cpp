// SPDX-License-Identifier: MIT
#include "py_engine.hpp"
#include "core/json.hpp"

#include <pybind11/stl.h>
#include <unistd.h>

#include <set>

#include "core/error.hpp"
#include "crossing.hpp"
#include "session/session.hpp"
#include "tune/evaluate.hpp"

namespace py = pybind11;

namespace wb::python {

using engine::Engine;

namespace {

/// Interval at which a waiting caller checks for Ctrl-C.
constexpr auto k_slice = std::chrono::milliseconds(50);

std::set<PyEngine*>& live_engines() {
  static std::set<PyEngine*> engines;  // under the GIL; open engines are closed at exit
  return engines;
}

/// Refuses a call for another session than the one that the engine holds.
std::optional<Error> other_session(const Engine& engine, const fs::path& asked) {
  if (engine.session() == nullptr || asked.empty()) return std::nullopt;
  std::error_code error;
  const fs::path& held = engine.session()->folder();
  if (fs::weakly_canonical(held, error) == fs::weakly_canonical(asked, error)) return std::nullopt;
  return Error{ErrorCode::usage, "work in", asked.string(),
               "this engine holds the session " + held.string(),
               "make another engine for another session"};
}

}  // namespace

PyEngine::PyEngine(cli::GlobalOptions options)
    : m_thread(std::make_shared<EngineThread>(std::move(options))), m_process(getpid()) {
  live_engines().insert(this);
}
PyEngine::~PyEngine() {
  live_engines().erase(this);
  m_waiting = std::thread::id();  // a destructor must not raise
  close();
}

void PyEngine::close() {
  if (is_forked()) {
    // The thread and all that it holds belong to the parent, so they are never destroyed.
    if (m_thread) (void)new std::shared_ptr<EngineThread>(std::exchange(m_thread, nullptr));
    return;
  }
  refuse_callbacks();
  std::shared_ptr<EngineThread> ending = std::exchange(m_thread, nullptr);
  if (!ending) return;
  const py::gil_scoped_release release;
  ending->request_stop();
  while (ending.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ending.reset();
}

void PyEngine::start() {
  run([](Engine&) -> Result<Json> { return Json(nullptr); }, py::none());
}

py::object PyEngine::call(const std::string& verb, const py::object& args, const fs::path& session,
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

py::object PyEngine::evaluate(const py::object& request, const py::object& progress) {
  const Json given = value_or_raise(json_from_python(request, "the request"));
  return run([=](Engine& engine) { return tune::evaluate(engine, given); }, progress);
}

py::object PyEngine::pause(const std::string& reason) {
  return run(
      [=](Engine& engine) -> Result<Json> {
        WB_TRY(engine.pause(reason));
        return Json(nullptr);
      },
      py::none());
}

py::object PyEngine::open_playbook(const py::object& open_args, const fs::path& session,
                                   const std::string& path, const std::string& source,
                                   const py::object& args, std::uint64_t seed,
                                   const py::object& progress) {
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

py::object PyEngine::resume_playbook(const fs::path& session, const std::string& path,
                                     const std::string& source, const py::object& args,
                                     std::uint64_t seed, bool replan, const py::object& progress) {
  const Json own = value_or_raise(json_from_python(args, "the playbook's arguments"));
  return run(
      [=](Engine& engine) -> Result<Json> {
        WB_TRY_ASSIGN(const std::int64_t abandoned, engine.resume_session(session));
        WB_TRY(engine.start_playbook(path, source, own, seed, replan));
        return Json{{"session", session.string()}, {"abandoned", abandoned}};
      },
      progress);
}

py::object PyEngine::playbook_call(const std::string& verb, const py::object& args,
                                   const py::object& progress, const py::object& program) {
  const Json given = value_or_raise(json_from_python(args, "the arguments of " + verb));
  return run(
      [=](Engine& engine) -> Result<Json> {
        if (engine.session() == nullptr) {
          return Error{ErrorCode::usage, "call", verb, "no session is held any more", "resume it"};
        }
        return engine.playbook_call(verb, given);
      },
      progress, program);
}

py::object PyEngine::replaying() {
  return run([](Engine& engine) -> Result<Json> { return Json(engine.replaying()); }, py::none());
}

void PyEngine::stop() const {
  if (m_thread && !is_forked()) m_thread->request_stop();
}

std::optional<fs::path> PyEngine::session() const {
  if (!m_thread || is_forked()) return std::nullopt;
  const fs::path folder = m_thread->held_session();
  return folder.empty() ? std::nullopt : std::optional(folder);
}

void PyEngine::close_all() {
  while (!live_engines().empty()) {
    PyEngine* engine = *live_engines().begin();
    live_engines().erase(engine);
    engine->close();
  }
}

/// Refuses a call from a callback, whose thread is inside a call and would wait for itself.
void PyEngine::refuse_callbacks() const {
  if (m_waiting != std::this_thread::get_id()) return;
  raise(Error{ErrorCode::usage, "use", "the engine",
              "this is called while it works, from its progress callback",
              "raise an exception or call stop() to end the verb"});
}

bool PyEngine::is_forked() const {
  return getpid() != m_process;
}

std::shared_ptr<EngineThread> PyEngine::usable() const {
  if (is_forked()) {
    raise(Error{ErrorCode::usage, "use", "the engine",
                "it belongs to the process that this one was forked from",
                "make a new one here, or start processes by the method \"spawn\""});
  }
  refuse_callbacks();
  if (m_thread) return m_thread;
  raise(Error{ErrorCode::usage, "use", "the engine", "it is closed", "make a new one"});
}

py::object PyEngine::run(const EngineThread::Task& task, const py::object& progress,
                         const py::object& program) {
  const std::shared_ptr<EngineThread> thread = usable();
  while (true) {
    bool posted = false;
    {
      const py::gil_scoped_release release;
      posted = thread->post(task, k_slice);
    }
    if (posted) break;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!m_thread || is_forked()) (void)usable();  // closed meanwhile, or a signal's handler forked
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
      if (is_forked()) break;  // a callback forked and this is the child: no answer will come
      if (auto question = thread->take_question()) {
        Result<Json> reply = answer_of(program, *question);
        if (is_forked()) break;
        thread->reply(std::move(reply));
      }
    } catch (py::error_already_set& error) {
      raised.emplace(error);
      if (is_forked()) break;
      thread->request_stop();
    }
  }
  m_waiting = std::thread::id();
  if (is_forked()) {
    if (raised) throw *raised;
    (void)usable();
  }
  Result<Json> answer = thread->take_answer();
  if (raised) throw *raised;
  return python_from_json(value_or_raise(std::move(answer)));
}

}  // namespace wb::python
