// SPDX-License-Identifier: MIT
// What tests of child processes need from the system: a shell to run, and whether a pid still
// lives.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "core/process.hpp"

namespace wb::testing {

inline ProcessSpec shell(std::string script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", std::move(script)};
  return spec;
}

/// A zombie counts as ended: in a container nobody may be there to reap a stray one.
inline bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const auto name_end = line.rfind(") ");
  return name_end != std::string::npos && line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
}

inline bool ends_soon(pid_t pid) {
  for (int i = 0; i < 6'000; ++i) {  // a minute, against those that never end
    if (!is_alive(pid)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace wb::testing
