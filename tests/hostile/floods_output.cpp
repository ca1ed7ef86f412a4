// SPDX-License-Identifier: MIT
// Prints a gigabyte, then does its work: only its output is cut.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const std::vector<char> line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 1024; ++i) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  return hostile::honest(plan, args);
}
