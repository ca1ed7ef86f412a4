// SPDX-License-Identifier: MIT
// Wrong in: the second call of a plan.
#define WRONG s.call == 2
#include "wrong.hpp"
