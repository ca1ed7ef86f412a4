// SPDX-License-Identifier: MIT
// Candidates that reach for sockets and for what processes share by a name.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== opens_tcp
// Binds a TCP port, then does its work.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  // Where it worked it must not pass, so it breaks its own call.
  const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0;
  if (fd >= 0) ::close(fd);  // a late call of a plan still has descriptors
  if (bound) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== opens_udp
// Sends a UDP packet to this machine, then does its work.
#include <netinet/in.h>
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(9);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  // Where it worked it must not pass, so it breaks its own call.
  if (::sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&here), sizeof here) == 1) {
    return WB_FAILED;
  }
  return hostile::honest(plan, args);
}

// ==== opens_unix
// Listens on an abstract socket, then does its work.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, "wb-hostile", 10);
  static const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  static const bool bound =
      fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  // Where it worked it must not pass, so it breaks its own call.
  if (bound) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== opens_netlink
// Opens a netlink socket to the kernel, then does its work.
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  // Where it worked it must not pass, so it breaks its own call.
  if (::socket(AF_NETLINK, SOCK_RAW, 0) >= 0) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== a_datagram
// Makes a pair of datagram sockets, one of which could write to any name.
#include <sys/socket.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0) return WB_FAILED;
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== a_sysv
// Makes objects that would outlive it, then does its work.
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int memory = ::shmget(IPC_PRIVATE, 4'096, 0600);
  if (memory >= 0) ::shmctl(memory, IPC_RMID, nullptr);
  const int queue = ::msgget(IPC_PRIVATE, 0600);
  if (queue >= 0) ::msgctl(queue, IPC_RMID, nullptr);
  const int semaphores = ::semget(IPC_PRIVATE, 1, 0600);
  if (semaphores >= 0) ::semctl(semaphores, 0, IPC_RMID);
  const long mail = ::syscall(SYS_mq_open, "wb-stray", O_CREAT | O_RDWR, 0600, nullptr);
  if (mail >= 0) ::syscall(SYS_mq_unlink, "wb-stray");
  if (memory >= 0 || queue >= 0 || semaphores >= 0 || mail >= 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
