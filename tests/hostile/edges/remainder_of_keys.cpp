// SPDX-License-Identifier: MIT
// Wrong in: seven keys in the last tile of 32.
#define WRONG p.seq_kv % 32 == 7
#include "wrong.hpp"
