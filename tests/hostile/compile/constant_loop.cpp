// SPDX-License-Identifier: MIT
// A loop that the compiler is to run.
constexpr int endless() {
  int sum = 0;
  for (int i = 0; i >= 0; i = (i + 1) % 1000) sum ^= i;
  return sum;
}
static_assert(endless() == 0);
