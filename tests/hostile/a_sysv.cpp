// SPDX-License-Identifier: MIT
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
