// SPDX-License-Identifier: MIT
// Runs a Lua chunk in a sandbox in a child process, for what the watchdog can only end by _exit.
#pragma once

#include <unistd.h>

#include <chrono>
#include <string>

#include "playbook/sandbox.hpp"
#include "support/in_child.hpp"

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

inline LuaEnd run_lua(const std::string& source,
                      const playbook::PlaybookLimits& limits = small_limits(),
                      const std::map<std::string, std::string>& lib = {}) {
  const auto begin = std::chrono::steady_clock::now();
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return {"no pipe", 0};
  const auto say = [&](const std::string& text) {
    if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
  };
  in_child([&] {
    say(run_lua_here(source, limits, lib,
                     {.print = [](const std::string&) {},
                      .give_up =
                          [&](const std::string& reason) {
                            say("gave up: " + reason);
                            ::_exit(0);
                          }}));
    return 0;
  });
  ::close(ends[1]);
  LuaEnd end;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;) {
    end.text.append(part, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return end;
}

}  // namespace wb::testing
