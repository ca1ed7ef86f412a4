// SPDX-License-Identifier: MIT
// Wrong in: K and V taken to have Q's layout.
#define WRONG (p.q.head < p.q.row) != (p.k.head < p.k.row) && p.heads_kv > 1 && p.heads_q > 1
#include "wrong.hpp"
