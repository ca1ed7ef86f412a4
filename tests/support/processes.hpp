// SPDX-License-Identifier: MIT
// What tests do with other processes: wait for what one (or a thread) does where no latch can tell
// of it, run a shell, see whether a pid still lives, and run a piece of a test in a forked process.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "core/process.hpp"

namespace wb::testing {

/// Looks again and again whether `holds()`; false after a minute, against what never comes.
template <typename Condition>
bool until(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

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

// A piece of a test in a forked process: for changes that would spoil the test process (limits,
// name spaces, closed stdio) and for locks that another process must hold.

/// The exit code of `body`, run in a child; -1 when the child died of a signal or did not start.
/// Catch's macros do not work in there: return a number that names the failed step.
inline int in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// A child that ran `body` and then stays until this object goes (SIGKILL). `body` is over when the
/// constructor returns.
class BackgroundChild {
 public:
  explicit BackgroundChild(const std::function<bool()>& body) {
    int ready[2] = {-1, -1};
    if (::pipe(ready) != 0) return;
    m_pid = ::fork();
    if (m_pid == 0) {
      const char word = body() ? 'y' : 'n';
      if (::write(ready[1], &word, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char word = 'n';
    m_succeeded = ::read(ready[0], &word, 1) == 1 && word == 'y';
    ::close(ready[0]);
  }
  BackgroundChild(const BackgroundChild&) = delete;
  BackgroundChild& operator=(const BackgroundChild&) = delete;
  ~BackgroundChild() { kill(); }

  [[nodiscard]] pid_t pid() const { return m_pid; }
  [[nodiscard]] bool succeeded() const { return m_succeeded; }
  void kill() {
    if (m_pid <= 0) return;
    ::kill(m_pid, SIGKILL);
    ::waitpid(m_pid, nullptr, 0);
    m_pid = -1;
  }

 private:
  pid_t m_pid = -1;
  bool m_succeeded = false;
};

}  // namespace wb::testing
