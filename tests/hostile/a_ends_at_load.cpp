// SPDX-License-Identifier: MIT
// Ends itself while it is loaded, as if somebody else had; then does its work.
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#include "hostile.hpp"

[[gnu::constructor]] static void at_load() {
  for (const int number : {SIGKILL, SIGTERM, SIGHUP, SIGINT}) {
    ::kill(::getpid(), number);
    ::syscall(SYS_tgkill, ::getpid(), ::getpid(), number);
    ::syscall(SYS_tkill, ::getpid(), number);
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
