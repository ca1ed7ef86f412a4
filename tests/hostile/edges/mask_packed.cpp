// SPDX-License-Identifier: MIT
// Wrong in: rows of a mask taken to lie side by side.
#define SPOIL \
  if (p.mask != 0) p.mask_strides = {p.seq_q * p.seq_kv, 0, p.seq_kv}
#include "wrong.hpp"
