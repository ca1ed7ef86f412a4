// SPDX-License-Identifier: MIT
// Wrong in: 63 rows in the last block of 64.
#define WRONG p.seq_q % 64 == 63
#include "wrong.hpp"
