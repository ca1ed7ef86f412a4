// SPDX-License-Identifier: MIT
// Leaves a daemon behind: a session of its own and no parent, then does its work.
#include <sys/prctl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);  // the grandchild has no parent here any more
    ::prctl(PR_SET_NAME, "wb-stray");
    while (true) ::pause();
  }
  return hostile::honest(plan, args);
}
