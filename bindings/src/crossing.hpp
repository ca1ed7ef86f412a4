// SPDX-License-Identifier: MIT
// What crosses between Python and the engine: values (dict, list, str, int, float, bool and None,
// nothing else), errors as the exceptions of sdpa_workbench.errors, and the questions that the
// engine asks a Python program. All functions need the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::python {

/// Tuples become lists, paths their text. Errors: usage (another type, a name that is no str, text
/// that is not UTF-8, an integer beyond 64 bits, more than 32 levels, more than 16 MiB).
/// Needs the GIL; exceptions of a path object's Python code pass through.
Result<Json> json_from_python(pybind11::handle value, const std::string& what);

/// Bytes that are not UTF-8 become U+FFFD. Needs the GIL.
pybind11::object python_from_json(const Json& value);

[[noreturn]] void raise(const Error& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

/// The program's answer to a question of the engine: a dict, or {error: {…}}. Its other exceptions
/// pass through. Errors: usage (there is no program), and those in the answer.
Result<Json> answer_of(const pybind11::object& program, const Json& question);

}  // namespace wb::python
