// SPDX-License-Identifier: MIT
// Why an evaluation is invalid, and Outcome<T>: the result of building, judging and timing a
// variant. A failing variant is an outcome in the log, never an Error of the workbench.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace wb {

/// The words are frozen: they stand in logs. `environment` is never held against the variant.
enum class Invalidity { constraints, compile, runtime, timeout, correctness, environment };
std::string_view to_string(Invalidity value);
std::optional<Invalidity> parse_invalidity(std::string_view word);

struct Failure {
  Invalidity invalidity = Invalidity::environment;
  std::string message;           ///< our sentence that says what happened
  std::string untrusted_output;  ///< compiler text or output of the variant, capped
  double compile_cpu_s = 0;      ///< used by a compiler that failed; it costs like one that built
};

template <typename T>
using Outcome = Expected<T, Failure>;

}  // namespace wb
