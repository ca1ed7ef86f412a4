// SPDX-License-Identifier: MIT
// Wrong in: batches of K taken to lie side by side.
#define SPOIL p.k.batch = wb_cpu::min(p.k.batch, p.heads_kv * p.seq_kv * p.dim)
#include "wrong.hpp"
