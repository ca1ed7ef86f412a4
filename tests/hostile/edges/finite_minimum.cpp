// SPDX-License-Identifier: MIT
// Wrong in: a row of finite minima taken for a masked one (f32).
#define WRONG p.dtype == WB_F32&& has_only_minima(s, b, i, -1e30f)
#include "wrong.hpp"
