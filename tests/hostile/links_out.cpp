// SPDX-License-Identifier: MIT
// Writes through a symbolic link that leads out of its folder, then does its work.
#include <fcntl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  [[maybe_unused]] const int made = ::symlink("/tmp", "out");
  const int file = ::open("out/sdpa-wb-hostile-was-here", O_CREAT | O_WRONLY, 0600);
  // Where it worked it must not pass, so it breaks its own call.
  if (file >= 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
