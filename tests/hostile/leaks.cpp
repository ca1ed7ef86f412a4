// SPDX-License-Identifier: MIT
// Leaks four gigabytes of address space a call; none of it is touched.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::vector<char*> blocks;
  blocks.push_back(new char[std::size_t{1} << 32]);
  return hostile::honest(plan, args);
}
