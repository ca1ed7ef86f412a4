// SPDX-License-Identifier: MIT
// Wrong in: bf16 under a causal rule.
#define WRONG p.dtype == WB_BF16&& p.causal != 0
#include "wrong.hpp"
