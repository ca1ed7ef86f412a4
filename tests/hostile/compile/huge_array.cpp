// SPDX-License-Identifier: MIT
// Three gigabytes of initialized data.
char wb_huge[3ul << 30] = {1};
