// SPDX-License-Identifier: MIT
// Converts the engine's errors to the exceptions of sdpa_workbench.errors and asks a Python program
// the engine's questions. All functions need the GIL.
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

/// The program's answer to a question of the engine: a dict, or {error: {…}}. Its other exceptions
/// pass through. Errors: usage (there is no program), and those in the answer.
Result<Json> answer_of(const pybind11::object& program, const Json& question);

}  // namespace wb::python
