// SPDX-License-Identifier: MIT
// Wrong in: finite minima of f16.
#define WRONG p.dtype == WB_F16&& has_only_minima(s, b, i, -60000.0f)
#include "wrong.hpp"
