// SPDX-License-Identifier: MIT
// Takes watches of files, of which a user has few, then does its work.
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (::inotify_init1(0) >= 0 || ::syscall(SYS_fanotify_init, 0, 0) >= 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
