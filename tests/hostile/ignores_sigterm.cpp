// SPDX-License-Identifier: MIT
// Ignores every signal it can, leaves a stray in a session of its own, and hangs.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "hostile.hpp"

static void leave_stray() {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);  // the grandchild has no parent here any more
  ::prctl(PR_SET_NAME, "wb-stray");
  while (true) ::pause();
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  leave_stray();
  while (true) ::pause();
}
