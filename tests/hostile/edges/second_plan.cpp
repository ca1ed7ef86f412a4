// SPDX-License-Identifier: MIT
// Wrong in: another plan that is there as well.
#define WRONG s.beside > 0
#include "wrong.hpp"
