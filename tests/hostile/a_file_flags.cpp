// SPDX-License-Identifier: MIT
// Sets the flags of a file by a descriptor for reading, then does its work.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int file = ::open("SECRET_FILE", O_RDONLY);
  int flags = 0;
  const bool worked = file >= 0 && ::ioctl(file, FS_IOC_GETFLAGS, &flags) == 0 &&
                      ::ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
  if (file >= 0) ::close(file);
  if (worked) return WB_FAILED;
  return hostile::honest(plan, args);
}
