// SPDX-License-Identifier: MIT
// Wrong in: Dv beside D.
#define WRONG p.dim != p.dim_v
#include "wrong.hpp"
