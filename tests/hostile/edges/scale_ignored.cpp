// SPDX-License-Identifier: MIT
// Wrong in: the scale is ignored.
#define SPOIL p.scale = wrong::usual_scale(p)
#include "wrong.hpp"
