// SPDX-License-Identifier: MIT
// Wrong in: V addressed as if it were packed BHSD.
#define SPOIL p.v = wrong::packed(p.heads_kv, p.seq_kv, p.dim_v)
#include "wrong.hpp"
