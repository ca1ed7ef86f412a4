// SPDX-License-Identifier: MIT
// Wrong in: three query heads for a key/value head.
#define WRONG s.group == 3
#include "wrong.hpp"
