// SPDX-License-Identifier: MIT
// What tests of child processes need from the system: a shell to run, and whether a pid still
// lives.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

#include "core/process.hpp"
#include "support/until.hpp"

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
  return until([pid] { return !is_alive(pid); });
}

}  // namespace wb::testing
