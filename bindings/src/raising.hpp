// SPDX-License-Identifier: MIT
// Errors of the engine as the exceptions of sdpa_workbench.errors, and a Python program as the one
// that the engine asks. All of it needs the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::python {

[[noreturn]] void raise(const Error& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

/// What the program says to a question of the engine: a dict, or {error: {…}}. What else it raises
/// passes through. Errors: usage (there is no program), and those that it says.
Result<Json> answer_of(const pybind11::object& program, const Json& question);

}  // namespace wb::python
