// SPDX-License-Identifier: MIT
// Wrong in: the 512th block of 64 rows.
#define WRONG ((b * p.heads_q + h) * ((p.seq_q + 63) / 64) + i / 64) == 511
#include "wrong.hpp"
