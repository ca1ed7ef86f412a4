// SPDX-License-Identifier: MIT
// The assembler reads a file that never ends.
asm(".include \"/dev/zero\"");
