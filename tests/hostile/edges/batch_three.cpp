// SPDX-License-Identifier: MIT
// Wrong in: batches from the fourth on.
#define WRONG b >= 3
#include "wrong.hpp"
