// SPDX-License-Identifier: MIT
// Whether an exported package may have a name, or would hide another one.
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"

namespace wb::verbs {

/// What `name` would be besides a package of ours, in words such as "a module of Python's standard
/// library"; nothing when it is free. `kind`: torch (a Python package, an operator's namespace and
/// a C++ identifier) or c (an identifier). `python` is asked what is installed; where it does not
/// run, the names that are known without it count.
std::optional<std::string> owner_of_name(const std::string& name, const std::string& kind,
                                         const std::string& python);

}  // namespace wb::verbs
