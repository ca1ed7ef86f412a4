// SPDX-License-Identifier: MIT
// Looks for the reference in the memory of every other process, then does its work.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  DIR* processes = ::opendir("/proc");
  bool found = false;
  while (const dirent* entry = processes != nullptr ? ::readdir(processes) : nullptr) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 1 || pid == static_cast<int>(::getpid())) continue;
    const std::string memory = "/proc/" + std::to_string(pid) + "/mem";
    const int file = ::open(memory.c_str(), O_RDONLY);
    found = found || file >= 0;
    if (file >= 0) ::close(file);
  }
  if (processes != nullptr) ::closedir(processes);
  // Where it worked it must not pass, so it breaks its own call.
  if (found) return WB_FAILED;
  return hostile::honest(plan, args);
}
