// SPDX-License-Identifier: MIT
// Wrong in: head dims that are no multiple of 8.
#define WRONG p.dim % 8 != 0
#include "wrong.hpp"
