// SPDX-License-Identifier: MIT
// Wrong in: strides of views ignored.
#define SPOIL p.q = p.q.head == p.dim ? p.q : wrong::packed(p.heads_q, p.seq_q, p.dim)
#include "wrong.hpp"
