// SPDX-License-Identifier: MIT
// Wrong in: the output addressed with Q's strides.
#define SPOIL                                                                        \
  if (p.dim_v <= p.dim) {                                                            \
    p.out = {wb_cpu::min(p.q.batch, p.out.batch), wb_cpu::min(p.q.head, p.out.head), \
             wb_cpu::min(p.q.row, p.out.row)};                                       \
  }
#include "wrong.hpp"
