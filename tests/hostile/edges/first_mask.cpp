// SPDX-License-Identifier: MIT
// Wrong in: the mask of the first batch for all.
#define SPOIL p.mask_strides.batch = 0
#include "wrong.hpp"
