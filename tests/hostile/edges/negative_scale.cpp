// SPDX-License-Identifier: MIT
// Wrong in: a negative scale.
#define SPOIL p.scale = std::abs(p.scale)
#include "wrong.hpp"
