// SPDX-License-Identifier: MIT
// Wrong in: no log-sum-exp asked for, under a causal rule.
#define WRONG args->lse == nullptr&& p.causal != 0
#include "wrong.hpp"
