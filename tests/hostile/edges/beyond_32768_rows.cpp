// SPDX-License-Identifier: MIT
// Wrong in: rows beyond the 32,768th.
#define WRONG i >= 32768
#include "wrong.hpp"
