// SPDX-License-Identifier: MIT
// Runs a Lua chunk in a sandbox in a child process, because the watchdog can end some chunks only
// by _exit.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "playbook/sandbox.hpp"

namespace wb::testing {

struct LuaEnd {
  std::string text;  ///< "ok: <first result as text>" or "<error code>: <cause>"
  double seconds = 0;
};

/// Small limits, so that hostile chunks end soon; the time is for a busy machine.
inline playbook::PlaybookLimits small_limits() {
  playbook::PlaybookLimits limits;
  limits.memory_bytes = 16u << 20;
  limits.instructions = 3'000'000;
  limits.lua_time = std::chrono::seconds(5);
  return limits;
}

/// In this process: only for chunks that end by themselves or by a hook.
inline std::string run_lua_here(const std::string& source, const playbook::PlaybookLimits& limits,
                                std::map<std::string, std::string> lib,
                                const playbook::Sandbox::Callbacks& callbacks) {
  playbook::Sandbox sandbox(limits, 7, std::move(lib), callbacks);
  if (const auto result = sandbox.load(source, "test.lua"); !result) {
    return std::string(to_string(result.error().code)) + ": " + result.error().cause;
  }
  std::size_t size = 0;
  const char* text = luaL_tolstring(sandbox.lua(), -1, &size);
  return "ok: " + std::string(text, size);
}

/// A chunk that runs in a child from the constructor on, beside others.
class LuaRun {
 public:
  explicit LuaRun(const std::string& source,
                  const playbook::PlaybookLimits& limits = small_limits(),
                  const std::map<std::string, std::string>& lib = {}) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe(ends.data()) != 0) return;
    m_end = ends[0];
    m_pid = ::fork();
    if (m_pid == 0) {
      const auto say = [&](const std::string& text) {
        if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
      };
      say(run_lua_here(source, limits, lib,
                       {.print = [](const std::string&) {},
                        .give_up =
                            [&](const std::string& reason) {
                              say("gave up: " + reason);
                              ::_exit(0);
                            }}));
      ::_exit(0);
    }
    ::close(ends[1]);
  }
  LuaRun(LuaRun&& other) noexcept
      : m_begin(other.m_begin),
        m_pid(std::exchange(other.m_pid, -1)),
        m_end(std::exchange(other.m_end, -1)) {}
  LuaRun& operator=(LuaRun&&) = delete;
  ~LuaRun() { wait(); }

  /// How it ended; waits for it.
  LuaEnd wait() {
    LuaEnd end;
    if (m_end < 0) return end;
    std::array<char, 4096> part;
    for (ssize_t n = 0; (n = ::read(m_end, part.data(), part.size())) > 0;) {
      end.text.append(part.data(), static_cast<std::size_t>(n));
    }
    ::close(std::exchange(m_end, -1));
    if (m_pid > 0) ::waitpid(m_pid, nullptr, 0);
    end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    return end;
  }

 private:
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
  pid_t m_pid = -1;
  int m_end = -1;
};

inline LuaEnd run_lua(const std::string& source,
                      const playbook::PlaybookLimits& limits = small_limits(),
                      const std::map<std::string, std::string>& lib = {}) {
  return LuaRun(source, limits, lib).wait();
}

}  // namespace wb::testing
