// SPDX-License-Identifier: MIT
#include "raising.hpp"
#include "core/json.hpp"

#include "json_python.hpp"

namespace py = pybind11;

namespace wb::python {

void raise(const Error& error) {
  const auto made = py::module_::import("sdpa_workbench.errors")
                        .attr("make")(to_string(error.code), error.message(), error.attempted,
                                      printable(error.subject, 4096), error.cause, error.next);
  PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
  throw py::error_already_set();
}

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

}  // namespace wb::python
