// SPDX-License-Identifier: MIT
// simulate_recording: a strategy on a recorded space (search/simulation.hpp), for Python, but
// without use of Python.
#pragma once

#include "core/files.hpp"
#include "core/json.hpp"
#include "search/program.hpp"

namespace wb::python {

/// Options: strategy, seed, evaluations, start, resamples; all but `strategy` may be absent.
/// Answers space_size, optimum_us and steps: configuration, outcome, promising_us,
/// fraction_of_optimum, elapsed_s after each answer. Errors: usage, those of load_recording(),
/// Strategy::make() and the program.
Result<Json> simulate_recording(const fs::path& recording, const Json& options,
                                const search::AskProgram& ask);

}  // namespace wb::python
