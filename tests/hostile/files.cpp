// SPDX-License-Identifier: MIT
// Candidates that reach for files outside their own folder, or write where the worker listens:
// descriptors, answers, floods of text.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== writes_files
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

// ==== links_out
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

// ==== fills_disk
// Writes a file until the disk is full.
#include <fcntl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  const std::vector<char> block(std::size_t{1} << 20, 'x');
  const int file = ::open("big", O_CREAT | O_WRONLY, 0600);
  while (::write(file, block.data(), block.size()) > 0) {
  }
  return WB_FAILED;
}

// ==== reads_etc
// Reads a file of the system, then does its work: reading is free, see the page's limits.
#include <fstream>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const bool may_read = std::ifstream("/etc/passwd").good();
  if (!may_read) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== a_chmod
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

// ==== a_file_flags
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

// ==== a_locks
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

// ==== a_watches
// Takes watches of files, of which a user has few, then does its work.
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (::inotify_init1(0) >= 0 || ::syscall(SYS_fanotify_init, 0, 0) >= 0) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== writes_to_descriptors
// Writes garbage to every descriptor it can guess.
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const char garbage[] = "{\"n\":1,\"ok\":tru\n\xff\xfe garbage";
  for (int fd = 1; fd < 64; ++fd) {
    [[maybe_unused]] const ssize_t written = ::write(fd, garbage, sizeof garbage);
  }
  return hostile::honest(plan, args);
}

// ==== closes_descriptors
// Closes every descriptor, its private socket too.
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (int fd = 0; fd < 64; ++fd) ::close(fd);
  return hostile::honest(plan, args);
}

// ==== forges_answer
// Sends an answer of its own before the real one: success, after one nanosecond.
#include <sys/socket.h>

#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  char answer[96];
  for (int number = 1; number <= 40; ++number) {
    const int length =
        std::snprintf(answer, sizeof answer, "{\"n\":%d,\"ok\":true,\"call_us\":0.001}", number);
    ::send(3, answer, static_cast<std::size_t>(length), MSG_DONTWAIT);
  }
  return hostile::honest(plan, args);
}

// ==== floods_output
// Prints a gigabyte, then does its work: only its output is cut.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const std::vector<char> line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 1024; ++i) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  return hostile::honest(plan, args);
}

// ==== floods_errors
// Writes a gigabyte to standard error, then does its work: only its words are cut.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const std::vector<char> line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 1024; ++i) std::fwrite(line.data(), 1, line.size(), stderr);
  return hostile::honest(plan, args);
}

// ==== floods_channel
// Sends answers without end on its private socket.
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  const std::vector<char> packet(32 << 10, ' ');
  while (true) ::send(3, packet.data(), packet.size(), 0);
}

// ==== prints_speedup
// Prints a speedup of its own invention, then does its work: nobody reads it.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::puts("{\"speedup\": 100.0, \"pass\": true}");
  return hostile::honest(plan, args);
}
