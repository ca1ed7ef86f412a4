// SPDX-License-Identifier: MIT
// A compiler that waits for its standard input.
#include "/dev/stdin"
