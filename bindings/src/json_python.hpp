// SPDX-License-Identifier: MIT
// Values between Python and the engine: dict, list, str, int, float, bool and None, nothing else.
#pragma once

#include <pybind11/pybind11.h>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::python {

/// Tuples become lists, paths their text. Errors: usage (another type, a name that is no str, text
/// that is not UTF-8, an integer beyond 64 bits, more than 32 levels, more than 16 MiB).
/// Needs the GIL; exceptions of a path object's Python code pass through.
Result<Json> json_from_python(pybind11::handle value, const std::string& what);

/// Bytes that are not UTF-8 become U+FFFD. Needs the GIL.
pybind11::object python_from_json(const Json& value);

}  // namespace wb::python
