// SPDX-License-Identifier: MIT
// Finds the files that a source includes with quotes, read as the compiler reads it (splices,
// comments, strings and raw strings), so that the include closure is exact; and the modules of
// kernels/common that a Python source imports. Used by variant.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::variant {

/// Names of all #include "name" in order of appearance, those under #if included. Errors: invalid
/// (#include MACRO, and <...> with an absolute path or "..", whose target would be unknown or
/// outside; such __has_include; __DATE__, __TIME__ and __TIMESTAMP__; an assembler's .incbin and
/// .include).
Result<std::vector<std::string>> scan_includes(std::string_view text, std::string_view what);

/// Each NAME of `from common.NAME import …` and `import common.NAME` at the start of a Python line,
/// indented or not, in order of appearance.
std::vector<std::string> scan_common_imports(std::string_view text);

}  // namespace wb::variant
