// SPDX-License-Identifier: MIT
// Wrong in: a scale that is not the usual one.
#define WRONG p.scale != usual_scale(p)
#include "wrong.hpp"
