// SPDX-License-Identifier: MIT
// Wrong in: BSHD with several key heads.
#define WRONG p.heads_kv > 1 && p.k.head<p.k.row && s.group> 1
#include "wrong.hpp"
