// SPDX-License-Identifier: MIT
// A file that never ends.
#include "/dev/zero"
