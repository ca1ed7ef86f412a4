// SPDX-License-Identifier: MIT
// Attaches to its supervisor, the parent, as a debugger; then does its work.
#include <sys/ptrace.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  // Where it worked it must not pass, so it breaks its own call.
  if (::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
