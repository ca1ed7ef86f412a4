// SPDX-License-Identifier: MIT
// Wrong in: calls of a plan from the 3,000th on.
#define WRONG s.call >= 3000
#include "wrong.hpp"
