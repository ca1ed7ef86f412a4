// SPDX-License-Identifier: MIT
// The names of problems, as the sections of a report call them.
#pragma once

#include "problem/names.hpp"

namespace wb::report {

using problem::output_elements;
using problem::short_name;

}  // namespace wb::report
