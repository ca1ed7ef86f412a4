// SPDX-License-Identifier: MIT
// Wrong in: the causal rule dropped where there is a mask.
#define SPOIL \
  if (p.mask != 0) p.causal = WB_CAUSAL_NONE
#include "wrong.hpp"
