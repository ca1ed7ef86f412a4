// SPDX-License-Identifier: MIT
// The kernel cpu_reference
