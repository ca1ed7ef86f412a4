// SPDX-License-Identifier: MIT
#include "crossing.hpp"

#include <fmt/format.h>

#include "core/json.hpp"

namespace py = pybind11;

namespace wb::python {

namespace {

constexpr int k_max_depth = 32;
constexpr std::size_t k_max_bytes = 16u << 20;

/// Walks a Python value and counts what it has read against the limits.
class Reader {
 public:
  explicit Reader(std::string what) : m_what(std::move(what)) {}

  Result<Json> read(py::handle value, const std::string& where, int depth) {
    if (depth > k_max_depth) {
      return fault(where, fmt::format("is nested deeper than {} levels", k_max_depth));
    }
    if (value.is_none()) return Json(nullptr);
    if (PyBool_Check(value.ptr()) != 0) return Json(value.ptr() == Py_True);
    if (PyLong_Check(value.ptr()) != 0) return read_integer(value, where);
    if (PyFloat_Check(value.ptr()) != 0) return Json(PyFloat_AS_DOUBLE(value.ptr()));
    if (PyUnicode_Check(value.ptr()) != 0) return read_text(value, where);
    if (PyDict_Check(value.ptr()) != 0) return read_map(value, where, depth);
    if (PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0) {
      return read_list(value, where, depth);
    }
    if (py::hasattr(value, "__fspath__")) return read_text(value.attr("__fspath__")(), where);
    return fault(where, fmt::format("is of type {}", type_name(value)));
  }

 private:
  static std::string type_name(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

  Error fault(const std::string& where, std::string cause) const {
    return Error{ErrorCode::usage, "read", m_what, fmt::format("{} {}", where, cause),
                 "give str, int, float, bool, None, or lists and dicts of them"};
  }

  Result<void> count(std::size_t bytes, const std::string& where) {
    m_bytes += bytes;
    if (m_bytes <= k_max_bytes) return {};
    return fault(where, fmt::format("makes the call larger than {} MiB", k_max_bytes >> 20));
  }

  Result<Json> read_integer(py::handle value, const std::string& where) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) return fault(where, "has more than 64 bits");
    return Json(static_cast<std::int64_t>(number));
  }

  Result<Json> read_text(py::handle value, const std::string& where) {
    if (PyUnicode_Check(value.ptr()) == 0) return fault(where, "is no text");
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      return fault(where, "holds half a character (a lone surrogate), which UTF-8 cannot say");
    }
    WB_TRY(count(static_cast<std::size_t>(size), where));
    return Json(std::string(text, static_cast<std::size_t>(size)));
  }

  Result<Json> read_list(py::handle value, const std::string& where, int depth) {
    Json list = Json::array();
    // Indexed access, because a path object's code may change the list meanwhile.
    const auto items = py::reinterpret_steal<py::object>(PySequence_Tuple(value.ptr()));
    if (!items) throw py::error_already_set();
    for (const py::handle item : py::reinterpret_borrow<py::tuple>(items)) {
      WB_TRY(count(8, where));
      WB_TRY_ASSIGN(Json read_item,
                    read(item, fmt::format("{}[{}]", where, list.size()), depth + 1));
      list.push_back(std::move(read_item));
    }
    return list;
  }

  Result<Json> read_map(py::handle value, const std::string& where, int depth) {
    Json map = Json::object();
    const auto copy = py::reinterpret_steal<py::dict>(PyDict_Copy(value.ptr()));
    for (const auto& [key, item] : copy) {
      if (PyUnicode_Check(key.ptr()) == 0) {
        return fault(where, fmt::format("has a name of type {}", type_name(key)));
      }
      WB_TRY_ASSIGN(const Json name, read_text(key, "a name in " + where));
      const auto& text = name.get_ref<const std::string&>();
      WB_TRY_ASSIGN(map[text], read(item, "\"" + printable(text, 60) + "\"", depth + 1));
    }
    return map;
  }

  std::string m_what;
  std::size_t m_bytes = 0;
};

py::str text_of(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

}  // namespace

Result<Json> json_from_python(py::handle value, const std::string& what) {
  return Reader(what).read(value, "it", 0);
}

py::object python_from_json(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return py::bool_(value.get<bool>());
    case Json::value_t::number_integer:
      return py::int_(value.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return py::int_(value.get<std::uint64_t>());
    case Json::value_t::number_float:
      return py::float_(value.get<double>());
    case Json::value_t::string:
      return text_of(value.get_ref<const std::string&>());
    case Json::value_t::array: {
      py::list list;
      for (const Json& item : value) list.append(python_from_json(item));
      return list;
    }
    case Json::value_t::object: {
      py::dict map;
      for (const auto& [key, item] : value.items()) map[text_of(key)] = python_from_json(item);
      return map;
    }
    default:
      return py::none();
  }
}

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
