// SPDX-License-Identifier: MIT
// Why an evaluation is not valid, and Outcome<T>: what building, judging and timing a variant give.
// A failing variant is an outcome that goes to the log, never an Error of the workbench.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace wb {

/// Frozen words: they stand in logs. `environment` is never held against the variant.
enum class Invalidity { constraints, compile, runtime, timeout, correctness, environment };
std::string_view to_string(Invalidity value);
std::optional<Invalidity> parse_invalidity(std::string_view word);

struct Failure {
  Invalidity invalidity = Invalidity::environment;
  std::string message;           ///< ours: what happened, in one sentence
  std::string untrusted_output;  ///< theirs: compiler text or what the variant printed, capped
};

template <typename T>
using Outcome = Expected<T, Failure>;

}  // namespace wb
