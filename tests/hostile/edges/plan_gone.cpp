// SPDX-License-Identifier: MIT
// Wrong in: after another plan was destroyed.
#define WRONG s.gone > 0
#include "wrong.hpp"
