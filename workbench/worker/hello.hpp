// SPDX-License-Identifier: MIT
// What a worker determines about its machine at hello: the CPU set, the interpreter for Python
// subjects, and the place of its own files. Used by supervisor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::worker {

std::string_view worker_version();

/// "0-3,8" -> {0,1,2,3,8}; empty text: all of `allowed`. Errors: parse, invalid (a CPU that this
/// process may not run on).
Result<std::vector<int>> choose_cpus(std::string_view text, const std::vector<int>& allowed);

/// The real path of an interpreter ("python3", a virtual environment's). Asks it for
/// sys.executable, because a shim may need environment variables that subjects do not get. Errors:
/// not_found, invalid.
Result<std::string> find_python(const std::string& wanted);

/// The Python subject loop that was installed with this program (find_installed_root). Errors:
/// not_found.
Result<std::string> find_subject_script(const std::string& own_program);

}  // namespace wb::worker
