// SPDX-License-Identifier: MIT
// Reads a file of the system, then does its work: reading is free, see the page's limits.
#include <fstream>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const bool may_read = std::ifstream("/etc/passwd").good();
  if (!may_read) return WB_FAILED;
  return hostile::honest(plan, args);
}
