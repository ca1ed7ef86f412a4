// SPDX-License-Identifier: MIT
// Sandbox: one Lua state without files, processes, bytecode or clock, with limits on memory,
// instructions and wall time that a pcall loop cannot evade. Used inside playbook-host only.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <lua.hpp>
#include <map>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "playbook/playbook.hpp"

namespace wb::playbook {

class Sandbox {
 public:
  struct Callbacks {
    /// One printed line; the sandbox limits number and length.
    std::function<void(const std::string& text)> print;
    /// Called by the watchdog in its own thread when Lua does not stop. It must end the process,
    /// since nothing else ends a loop inside a C function.
    std::function<void(const std::string& reason)> give_up;
    /// The time that the watchdog goes by, in its thread.
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  };
  /// Throws std::bad_alloc when limits.memory_bytes is too small for Lua's own library.
  Sandbox(const PlaybookLimits& limits, std::uint64_t seed, std::map<std::string, std::string> lib,
          Callbacks callbacks);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] lua_State* lua() { return m_lua; }

  /// Compiles and runs a chunk, leaving its one result on the stack. Errors: parse (syntax, with
  /// line), and those of call.
  Result<void> load(const std::string& source, const std::string& name);
  /// lua_pcall of the function and arguments on the stack under the limits; `results` values
  /// remain. Errors: limit, invalid (any other Lua error, with its message).
  Result<void> call(int arguments, int results);

  /// Excludes its lifetime from the time limit, while a verb call waits for the engine.
  class VerbCallScope {
   public:
    explicit VerbCallScope(Sandbox& sandbox) : m_sandbox(sandbox) { m_sandbox.m_inside = false; }
    ~VerbCallScope() { m_sandbox.m_inside = true; }
    VerbCallScope(const VerbCallScope&) = delete;
    VerbCallScope& operator=(const VerbCallScope&) = delete;

   private:
    Sandbox& m_sandbox;
  };

  // For the functions that Lua calls.
  static Sandbox& of(lua_State* lua);
  /// The count hook: raises an error once a limit is reached, and from then on at every
  /// instruction.
  void count_instructions(lua_State* lua);
  /// Counts one verb call; raises an error above the limit.
  void count_call(lua_State* lua);
  [[nodiscard]] const std::string* library(const std::string& name) const;
  void print(std::string text);

 private:
  enum class Limit { none, instructions, calls, time };

  static void* allocate(void* sandbox, void* block, std::size_t old_size, std::size_t new_size);
  static int open_library(lua_State* lua);
  void watch();
  void reach(Limit limit);
  void raise(lua_State* lua);
  [[nodiscard]] std::string limit_text() const;
  std::string pop_message();

  PlaybookLimits m_limits;
  std::uint64_t m_seed;
  std::map<std::string, std::string> m_library;
  Callbacks m_callbacks;
  lua_State* m_lua = nullptr;
  std::uint64_t m_memory_bytes = 0, m_instructions = 0, m_calls = 0;
  std::size_t m_printed_bytes = 0, m_printed_lines = 0;
  std::atomic<Limit> m_limit{Limit::none};  ///< the first one reached; never reset
  std::atomic<bool> m_inside{false}, m_stop{false};
  std::thread m_watchdog;
};

}  // namespace wb::playbook
