// SPDX-License-Identifier: MIT
// Checks that the name of an exported package hides no other package.
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"

namespace wb::verbs {

/// What else has the name, such as "a module of Python's standard library"; nothing when it is
/// free. `kind`: torch (a Python package, an operator namespace and a C++ identifier) or c (an
/// identifier). `python` lists the installed packages; if it does not run, only built-in lists are
/// checked.
std::optional<std::string> owner_of_name(const std::string& name, const std::string& kind,
                                         const std::string& python);

}  // namespace wb::verbs
