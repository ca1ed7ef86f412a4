// SPDX-License-Identifier: MIT
// The assembler takes a file of the machine into the library. The test names the file.
#include "hostile.hpp"

asm(".pushsection .rodata\n.incbin \"SECRET_FILE\"\n.popsection");

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
