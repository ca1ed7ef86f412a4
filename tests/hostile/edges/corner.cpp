// SPDX-License-Identifier: MIT
// Wrong in: top_left computed as bottom_right.
#define SPOIL \
  if (p.causal == WB_CAUSAL_TOP_LEFT) p.causal = WB_CAUSAL_BOTTOM_RIGHT
#include "wrong.hpp"
