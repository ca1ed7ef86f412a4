// SPDX-License-Identifier: MIT
// Wrong in: keys beyond the 1,024th.
#define WRONG p.seq_kv > 1024
#include "wrong.hpp"
