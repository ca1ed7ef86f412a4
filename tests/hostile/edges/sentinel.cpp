// SPDX-License-Identifier: MIT
// Wrong in: a running maximum that starts at -100.
#define WRONG largest_score(s, b, h, i) < -100
#include "wrong.hpp"
