// SPDX-License-Identifier: MIT
#include "playbook/sandbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "playbook/sandbox_library.hpp"

namespace wb::playbook {
namespace {

using std::chrono::steady_clock;

constexpr int k_hook_instructions = 10'000;
constexpr auto k_watch_step = std::chrono::milliseconds(20);
/// How long Lua may take to stop by its own error after a limit, before the process is ended.
constexpr auto k_grace = std::chrono::seconds(1);
constexpr std::size_t k_print_bytes = 16u << 10, k_print_lines = 200;
constexpr std::size_t k_message_bytes = 2048;
/// Lua's error when a string buffer cannot grow.
constexpr std::string_view k_no_memory = "not enough memory";

void hook(lua_State* lua, lua_Debug*) {
  Sandbox::of(lua).count_instructions(lua);
}

/// A string field of the table at 1, read without metamethods; empty when there is none.
std::string field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, 1);
  std::size_t size = 0;
  const char* text = lua_type(lua, -1) == LUA_TSTRING ? lua_tolstring(lua, -1, &size) : "";
  std::string value(text, std::min(size, k_message_bytes));
  lua_pop(lua, 1);
  return value;
}

/// Called protected, since an error value may be a table with hostile metamethods. Argument 1 is
/// the error, argument 2 the std::string for its text.
int describe_error(lua_State* lua) {
  auto& text = *static_cast<std::string*>(lua_touserdata(lua, 2));
  if (lua_istable(lua, 1)) {
    const std::string message = field(lua, "message");
    text = field(lua, "where") + message;
    if (!message.empty()) return 0;
  }
  const bool has_text = lua_type(lua, 1) == LUA_TSTRING || lua_type(lua, 1) == LUA_TNUMBER ||
                        luaL_getmetafield(lua, 1, "__tostring") != LUA_TNIL;
  if (!has_text) {
    text = fmt::format("an error without a message (a {} value)", luaL_typename(lua, 1));
    return 0;
  }
  std::size_t size = 0;
  const char* raw = luaL_tolstring(lua, 1, &size);
  text.assign(raw, std::min(size, k_message_bytes));
  return 0;
}

}  // namespace

Sandbox::Sandbox(const PlaybookLimits& limits, std::uint64_t seed,
                 std::map<std::string, std::string> lib, Callbacks callbacks)
    : m_limits(limits), m_seed(seed), m_library(std::move(lib)), m_callbacks(std::move(callbacks)) {
  m_lua = lua_newstate(&Sandbox::allocate, this);
  if (m_lua == nullptr) throw std::bad_alloc();
  *static_cast<Sandbox**>(lua_getextraspace(m_lua)) = this;
  lua_pushcfunction(m_lua, &Sandbox::open_library);
  if (lua_pcall(m_lua, 0, 0, 0) != LUA_OK) {
    lua_close(m_lua);
    throw std::bad_alloc();
  }
  lua_sethook(m_lua, hook, LUA_MASKCOUNT, k_hook_instructions);
  m_watchdog = std::thread([this] { watch(); });
}

Sandbox::~Sandbox() {
  m_stop = true;
  m_watchdog.join();
  lua_close(m_lua);
}

int Sandbox::open_library(lua_State* lua) {
  open_sandbox_library(lua, of(lua).m_seed);
  return 0;
}

Sandbox& Sandbox::of(lua_State* lua) {
  // New coroutines copy the extra space of the main thread.
  return **static_cast<Sandbox**>(lua_getextraspace(lua));
}

void* Sandbox::allocate(void* sandbox, void* block, std::size_t old_size, std::size_t new_size) {
  auto& self = *static_cast<Sandbox*>(sandbox);
  // For a new block Lua passes a type tag as the old size.
  const std::size_t held = block == nullptr ? 0 : old_size;
  if (new_size == 0) {
    std::free(block);
    self.m_memory_bytes -= held;
    return nullptr;
  }
  if (new_size > held && self.m_memory_bytes + (new_size - held) > self.m_limits.memory_bytes) {
    return nullptr;  // Lua collects garbage, retries once, then raises an error
  }
  void* moved = std::realloc(block, new_size);
  if (moved != nullptr) self.m_memory_bytes += new_size - held;
  return moved;
}

void Sandbox::reach(Limit limit) {
  Limit none = Limit::none;
  m_limit.compare_exchange_strong(none, limit);
}

std::string Sandbox::limit_text() const {
  switch (m_limit.load()) {
    case Limit::instructions:
      return fmt::format("it ran more than {} instructions", m_limits.instructions);
    case Limit::calls:
      return fmt::format("it called more than {} verbs", m_limits.calls);
    case Limit::time:
      return fmt::format("it ran longer than {:g} s inside Lua",
                         std::chrono::duration<double>(m_limits.lua_time).count());
    case Limit::none:
      break;
  }
  return {};
}

void Sandbox::raise(lua_State* lua) {
  // From now on every instruction raises an error, so that no pcall can hide the end. Other
  // coroutines follow at their next hook.
  lua_sethook(lua, hook, LUA_MASKCOUNT | LUA_MASKLINE | LUA_MASKCALL, 1);
  luaL_error(lua, "%s", limit_text().c_str());
}

void Sandbox::count_instructions(lua_State* lua) {
  m_instructions += k_hook_instructions;
  if (m_instructions > m_limits.instructions) reach(Limit::instructions);
  if (m_limit != Limit::none) raise(lua);
}

void Sandbox::count_call(lua_State* lua) {
  if (++m_calls > m_limits.calls) reach(Limit::calls);
  if (m_limit != Limit::none) raise(lua);
}

void Sandbox::watch() {
  auto inside = steady_clock::duration::zero(), ending = steady_clock::duration::zero();
  auto last = m_callbacks.now();
  while (!m_stop) {
    std::this_thread::sleep_for(k_watch_step);
    const auto now = m_callbacks.now();
    const auto step = m_inside ? now - last : steady_clock::duration::zero();
    last = now;
    inside += step;
    if (inside >= m_limits.lua_time) reach(Limit::time);
    if (m_limit == Limit::none) continue;
    ending += step;
    // C functions and message handlers run no hook, so only ending the process stops them.
    if (ending > k_grace) m_callbacks.give_up(limit_text() + " and did not stop");
  }
}

Result<void> Sandbox::load(const std::string& source, const std::string& name) {
  // Mode "t": bytecode could corrupt the interpreter.
  const int status =
      luaL_loadbufferx(m_lua, source.data(), source.size(), ("@" + name).c_str(), "t");
  if (status == LUA_OK) return call(0, 1);
  return Error{status == LUA_ERRSYNTAX ? ErrorCode::parse : ErrorCode::limit, "read",
               "the playbook", pop_message(), ""};
}

Result<void> Sandbox::call(int arguments, int results) {
  m_inside = true;
  const int status = lua_pcall(m_lua, arguments, results, 0);
  std::string message = status == LUA_OK ? std::string() : pop_message();
  m_inside = false;
  if (m_limit != Limit::none) {
    return Error{ErrorCode::limit, "run", "the playbook", limit_text(), ""};
  }
  if (status == LUA_OK) return {};
  if (status == LUA_ERRMEM || message == k_no_memory) {
    return Error{ErrorCode::limit, "run", "the playbook",
                 fmt::format("it needs more than {} MiB of memory", m_limits.memory_bytes >> 20),
                 ""};
  }
  return Error{ErrorCode::invalid, "run", "the playbook", std::move(message), ""};
}

std::string Sandbox::pop_message() {
  std::string text;
  lua_pushcfunction(m_lua, describe_error);
  lua_insert(m_lua, -2);
  lua_pushlightuserdata(m_lua, &text);
  if (lua_pcall(m_lua, 2, 0, 0) != LUA_OK) {
    lua_pop(m_lua, 1);
    text = "an error whose message cannot be read";
  }
  return text;
}

const std::string* Sandbox::library(const std::string& name) const {
  const auto found = m_library.find(name);
  return found == m_library.end() ? nullptr : &found->second;
}

void Sandbox::print(std::string text) {
  if (m_printed_lines > k_print_lines || m_printed_bytes > k_print_bytes) return;
  ++m_printed_lines;
  m_printed_bytes += text.size();
  if (m_printed_lines > k_print_lines || m_printed_bytes > k_print_bytes) {
    text = fmt::format("(print is silent from here on: it takes {} lines and {} KiB)",
                       k_print_lines, k_print_bytes >> 10);
  }
  m_callbacks.print(text);
}

}  // namespace wb::playbook
