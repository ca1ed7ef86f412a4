// SPDX-License-Identifier: MIT
// Has the assembler take a file in, by a directive of two halves.
asm(".macro take a b\n"
    ".\\a\\b \"SECRET_FILE\"\n"
    ".endm\n"
    ".section .rodata\n"
    "take inc bin\n"
    ".text\n");
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
