// SPDX-License-Identifier: MIT
// Forks two hundred children that never end, then does its work.
#include <sys/prctl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (int i = 0; i < 200; ++i) {
    if (::fork() != 0) continue;
    ::prctl(PR_SET_NAME, "wb-stray");
    while (true) ::pause();
  }
  return hostile::honest(plan, args);
}
