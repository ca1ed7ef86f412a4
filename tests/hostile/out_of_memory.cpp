// SPDX-License-Identifier: MIT
// Allocates until there is no more.
#include <cstring>
#include <new>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  constexpr std::size_t k_step = std::size_t{1} << 33;  // never touched: only promised
  std::vector<char*> blocks;
  while (true) blocks.push_back(new char[k_step]);
}
