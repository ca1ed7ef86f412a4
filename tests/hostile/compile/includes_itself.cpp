// SPDX-License-Identifier: MIT
// A header that includes itself until the compiler gives up.
#include "kernel.cpp"
