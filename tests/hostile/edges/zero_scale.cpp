// SPDX-License-Identifier: MIT
// Wrong in: a scale of zero.
#define WRONG p.scale == 0
#include "wrong.hpp"
