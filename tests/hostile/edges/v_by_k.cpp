// SPDX-License-Identifier: MIT
// Wrong in: V addressed with K's strides.
#define SPOIL \
  if (p.dim_v <= p.dim) p.v = p.k
#include "wrong.hpp"
