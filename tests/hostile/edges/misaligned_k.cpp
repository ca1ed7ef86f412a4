// SPDX-License-Identifier: MIT
// Wrong in: K that is aligned to an element only.
#define WRONG is_misaligned(args->k)
#include "wrong.hpp"
