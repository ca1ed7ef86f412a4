// SPDX-License-Identifier: MIT
// sdpa_workbench._core: the engine for the Python package, which alone uses it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cmath>

#include "cli/services.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "crossing.hpp"
#include "py_engine.hpp"
#include "search/program.hpp"
#include "search/simulation.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"
#include "verbs/table.hpp"

namespace py = pybind11;

namespace wb::python {
namespace {

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json step_json(const search::SimulationStep& step) {
  const search::Score& score = step.score;
  return {{"configuration", variant::to_json(step.configuration)},
          {"outcome", score.invalidity ? to_string(*score.invalidity) : to_string(score.outcome)},
          {"promising_us", number_or_null(step.promising_us)},
          {"fraction_of_optimum", step.fraction_of_optimum},
          {"elapsed_s", step.elapsed_s}};
}

/// A strategy on a recorded space, without use of Python.
/// Options: strategy, seed, evaluations, start, resamples; all but `strategy` may be absent.
/// Answers space_size, optimum_us and steps: configuration, outcome, promising_us,
/// fraction_of_optimum, elapsed_s after each answer. Errors: usage, those of load_recording(),
/// Strategy::make() and the program.
Result<Json> simulate_recording(const fs::path& path, const Json& options,
                                const search::AskProgram& ask) {
  ObjectReader reader(options, "the options of the simulation");
  const std::string word = reader.string("strategy");
  constexpr std::int64_t k_seed_max = 4'294'967'295, k_count_max = 1'000'000;
  const std::int64_t seed = reader.integer_or("seed", 1, 0, k_seed_max);
  const std::int64_t evaluations = reader.integer_or("evaluations", 0, 0, k_count_max);
  const std::int64_t resamples = reader.integer_or("resamples", 2'000, 10, 100'000);
  const Json* start = reader.member("start");
  WB_TRY(reader.finish(true));
  search::StrategyOptions wanted;
  const auto kind = search::parse_strategy_kind(word);
  if (!kind) {
    return Error{ErrorCode::usage, "simulate", word, "there is no such strategy",
                 "docs/guide/simulation.md lists them"};
  }
  wanted.kind = *kind;
  wanted.seed = static_cast<std::uint64_t>(seed);
  wanted.make_proposer = search::proposers_of(ask, wanted.in_flight);
  if (start != nullptr && start->is_object()) {
    variant::Configuration& first = wanted.start.emplace();
    for (const auto& [name, value] : start->items()) {
      if (const auto whole = whole_number(value)) first[name] = *whole;
    }
  }
  const RealFileSystem file_system;
  WB_TRY_ASSIGN(const search::Recording recording, search::load_recording(file_system, path));
  WB_TRY_ASSIGN(search::Strategy strategy,
                search::Strategy::make(recording.space, std::move(wanted)));
  search::SimulationOptions how;
  how.seed = static_cast<std::uint64_t>(seed);
  how.resamples = static_cast<int>(resamples);
  if (evaluations > 0) how.evaluations = evaluations;
  const search::SimulationResult result = search::simulate(recording, strategy, how);
  Json steps = Json::array();
  for (const search::SimulationStep& step : result.steps) steps.push_back(step_json(step));
  return Json{{"space_size", recording.space.size()},
              {"optimum_us", recording.median_us[recording.optimum]},
              {"proposer", strategy.about()},
              {"elapsed_s", result.elapsed_s},
              {"steps", std::move(steps)}};
}

cli::GlobalOptions make_options(const fs::path& programs, const py::kwargs& given) {
  cli::GlobalOptions options;
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
  take("isolation", options.isolation);
  take("device_lock", options.device_lock);
  return options;
}

/// Sets Python's error in every interpreter but the first: pybind11's tables and our engines exist
/// once per process.
bool is_main_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError,
                  "sdpa_workbench serves the main interpreter of a process, and this is a "
                  "subinterpreter: use it in the main one, or in a process of its own");
  return false;
}

}  // namespace

// The macro below defines the function that Python calls. It first makes pybind11's tables, which
// the first interpreter to call would own, so a checking function calls it.
#define PyInit__core make_core  // NOLINT(bugprone-reserved-identifier)
PYBIND11_MODULE(_core, module) {
  if (!is_main_interpreter()) throw py::error_already_set();
  if (const auto ready = close_in_forked_children(); !ready) raise(ready.error());
  module.doc() = "The engine of the SDPA Workbench; use the package's own classes instead.";
  module.attr("__version__") = WB_VERSION;
  module.def(
      "verb_table", [] { return python_from_json(verbs::verb_table_json()); },
      "The verb table: one dict a verb.");
  module.def(
      "check_arguments",
      [](const std::string& name, const py::object& args) {
        const verbs::Verb* verb = verbs::find_verb(name);
        if (verb == nullptr) {
          raise(Error{ErrorCode::usage, "look for the verb", printable(name), "there is none", ""});
        }
        const Json given = value_or_raise(json_from_python(args, "the arguments of " + name));
        return python_from_json(value_or_raise(verbs::check_arguments(verb->spec, given)));
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
      "is_session", [](const fs::path& path) { return session::is_session(path); }, py::arg("path"),
      "Whether a session's folder or archive is there.");
  module.def(
      "session_log",
      [](const fs::path& path) {
        const auto read = [&]() -> Result<std::string> {
          const py::gil_scoped_release release;
          const RealFileSystem files;
          WB_TRY_ASSIGN(const auto storage, session::open_storage(files, path));
          WB_TRY_ASSIGN(const session::EventLog log, session::EventLog::open_reader(*storage));
          return log.text(log.size());
        };
        return py::bytes(value_or_raise(read()));
      },
      py::arg("path"), "The whole lines of a session's log, from its folder or archive.");

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
      .def("start", &PyEngine::start)
      .def("close", &PyEngine::close)
      .def_property_readonly("session", &PyEngine::session)
      .def("__reduce__", [](const PyEngine&) -> py::object {
        throw py::type_error("an Engine holds a thread and a lock and cannot be pickled");
      });
  py::module_::import("atexit").attr("register")(py::cpp_function(&PyEngine::close_all));
}
#undef PyInit__core

extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  return is_main_interpreter() ? make_core() : nullptr;
}

}  // namespace wb::python
