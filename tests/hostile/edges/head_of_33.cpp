// SPDX-License-Identifier: MIT
// Wrong in: a head beyond the 20th of a grouped problem.
#define WRONG h >= 20 && s.group > 1
#include "wrong.hpp"
