// SPDX-License-Identifier: MIT
// Wrong in: rows that are 5 modulo 16.
#define WRONG p.seq_q % 16 == 5 && i == p.seq_q - 1
#include "wrong.hpp"
