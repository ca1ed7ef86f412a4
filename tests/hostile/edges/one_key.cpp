// SPDX-License-Identifier: MIT
// Wrong in: a single key.
#define WRONG p.seq_kv == 1
#include "wrong.hpp"
