// SPDX-License-Identifier: MIT
// Wrong in: heads from the tenth on.
#define WRONG h >= 9
#include "wrong.hpp"
