// SPDX-License-Identifier: MIT
// Wrong in: rows of V taken to be D long.
#define SPOIL                                         \
  if (p.v.row == p.dim_v && p.dim < p.dim_v) {        \
    p.v = wrong::packed(p.heads_kv, p.seq_kv, p.dim); \
  }
#include "wrong.hpp"
