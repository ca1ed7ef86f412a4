// SPDX-License-Identifier: MIT
// Locks a file of the user and takes a lease on it, then does its work.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int file = ::open("SECRET_FILE", O_RDONLY);
  if (file < 0) return hostile::honest(plan, args);
  struct flock shared {};
  shared.l_type = F_RDLCK;
  struct flock open_file = shared;
  const bool worked =
      ::flock(file, LOCK_EX | LOCK_NB) == 0 || ::fcntl(file, F_SETLK, &shared) == 0 ||
      ::fcntl(file, F_OFD_SETLK, &open_file) == 0 || ::fcntl(file, F_SETLEASE, F_RDLCK) == 0 ||
      ::fcntl(file, F_SETOWN, ::getppid()) == 0;
  ::close(file);
  if (worked) return WB_FAILED;
  return hostile::honest(plan, args);
}
