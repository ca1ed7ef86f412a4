// SPDX-License-Identifier: MIT
// Wrong in: scores above 80.
#define WRONG largest_score(s, b, h, i) > 80
#include "wrong.hpp"
