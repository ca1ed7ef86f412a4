// SPDX-License-Identifier: MIT
// Wrong in: bool masks under bottom_right.
#define WRONG p.mask == WB_MASK_BOOL&& p.causal == WB_CAUSAL_BOTTOM_RIGHT
#include "wrong.hpp"
