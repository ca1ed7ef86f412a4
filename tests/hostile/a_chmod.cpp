// SPDX-License-Identifier: MIT
// Changes who may use a file of the user, and when it was changed, then does its work.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  // Values that change nothing: the call alone would have worked with others.
  struct stat now {};
  if (::stat("SECRET_FILE", &now) != 0) return hostile::honest(plan, args);
  const int file = ::open("SECRET_FILE", O_RDONLY);
  const timespec times[2] = {now.st_atim, now.st_mtim};
  const bool worked = ::chmod("SECRET_FILE", now.st_mode & 07777) == 0 ||
                      ::fchmod(file, now.st_mode & 07777) == 0 ||
                      ::fchmodat(AT_FDCWD, "SECRET_FILE", now.st_mode & 07777, 0) == 0 ||
                      ::chown("SECRET_FILE", now.st_uid, now.st_gid) == 0 ||
                      ::fchown(file, now.st_uid, now.st_gid) == 0 ||
                      ::utimensat(AT_FDCWD, "SECRET_FILE", times, 0) == 0 ||
                      ::futimens(file, times) == 0 ||
                      ::setxattr("SECRET_FILE", "user.wb", "x", 1, 0) == 0;
  ::close(file);
  // Where it worked it must not pass, so it breaks its own call.
  if (worked) return WB_FAILED;
  return hostile::honest(plan, args);
}
