// SPDX-License-Identifier: MIT
// Writes outside its folder and looks into its supervisor, then does its work.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int file = ::open("/tmp/sdpa-wb-hostile-was-here", O_CREAT | O_WRONLY, 0600);
  char memory[64];
  std::snprintf(memory, sizeof memory, "/proc/%d/mem", static_cast<int>(::getppid()));
  const int reading = ::open(memory, O_RDWR);
  const long traced = ::ptrace(PTRACE_SEIZE, ::getppid(), nullptr, nullptr);
  // Where any of these worked it must not pass, so it breaks its own output.
  if (file >= 0 || reading >= 0 || traced == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
