// SPDX-License-Identifier: MIT
// Writes a gigabyte to standard error, then does its work: only its words are cut.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const std::vector<char> line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 1024; ++i) std::fwrite(line.data(), 1, line.size(), stderr);
  return hostile::honest(plan, args);
}
