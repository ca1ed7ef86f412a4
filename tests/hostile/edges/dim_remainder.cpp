// SPDX-License-Identifier: MIT
// Wrong in: a head dim of 9 modulo 16.
#define WRONG p.dim % 16 == 9
#include "wrong.hpp"
