// SPDX-License-Identifier: MIT
// Reads the memory of its supervisor, then does its work.
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  char bytes[8];
  iovec mine{bytes, sizeof bytes};
  // The stack of every process of this machine lies in the uppermost mapping; any address will do
  // to tell "not mapped" (EFAULT) from "not allowed" (EPERM, ENOSYS).
  iovec theirs{bytes, sizeof bytes};
  const ssize_t got = ::process_vm_readv(::getppid(), &mine, 1, &theirs, 1, 0);
  if (got >= 0 || errno == EFAULT) return WB_FAILED;
  return hostile::honest(plan, args);
}
