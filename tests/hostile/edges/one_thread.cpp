// SPDX-License-Identifier: MIT
// Wrong in: one thread.
#define WRONG args->threads == 1
#include "wrong.hpp"
