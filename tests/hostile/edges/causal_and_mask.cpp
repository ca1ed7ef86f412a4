// SPDX-License-Identifier: MIT
// Wrong in: a causal rule together with a mask.
#define WRONG p.causal != 0 && p.mask != 0
#include "wrong.hpp"
