// SPDX-License-Identifier: MIT
// Wrong in: head dims above 256.
#define WRONG p.dim > 256
#include "wrong.hpp"
