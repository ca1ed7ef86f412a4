// SPDX-License-Identifier: MIT
// Text in playbooks: tostring, print and string.format without addresses; patterns with limits.
#include <algorithm>
#include <string>
#include <string_view>

#include "playbook/sandbox.hpp"
#include "playbook/sandbox_library.hpp"

namespace wb::playbook {
namespace {

constexpr std::size_t k_pattern_bytes = 64u << 10;
constexpr std::size_t k_print_line_bytes = 4096;

/// True when Lua would print the value's address: a type without text and without __tostring.
bool shows_address(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TTABLE:
    case LUA_TFUNCTION:
    case LUA_TTHREAD:
    case LUA_TUSERDATA:
    case LUA_TLIGHTUSERDATA:
      if (luaL_getmetafield(lua, index, "__tostring") == LUA_TNIL) return true;
      lua_pop(lua, 1);
      return false;
    default:
      return false;
  }
}

/// Calls upvalue 1 with all arguments.
int call_original(lua_State* lua) {
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

}  // namespace

int lua_plain_tostring(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (shows_address(lua, 1)) {
    lua_pushstring(lua, luaL_typename(lua, 1));
  } else {
    luaL_tolstring(lua, 1, nullptr);
  }
  return 1;
}

int lua_print(lua_State* lua) {
  std::string text;
  const int arguments = lua_gettop(lua);
  for (int i = 1; i <= arguments && text.size() < k_print_line_bytes; ++i) {
    if (i > 1) text += '\t';
    if (shows_address(lua, i)) {
      text += luaL_typename(lua, i);
      continue;
    }
    std::size_t size = 0;
    const char* part = luaL_tolstring(lua, i, &size);
    text.append(part,
                std::min(size, k_print_line_bytes - std::min(text.size(), k_print_line_bytes)));
    lua_pop(lua, 1);
  }
  Sandbox::of(lua).print(std::move(text));
  return 0;
}

int lua_plain_format(lua_State* lua) {
  std::size_t size = 0;
  const char* raw = luaL_checklstring(lua, 1, &size);
  const std::string_view pattern(raw, size);
  for (std::size_t at = pattern.find('%'); at != pattern.npos; at = pattern.find('%', at)) {
    at = pattern.find_first_not_of("-+ #0123456789.", at + 1);
    if (at == pattern.npos) break;
    if (pattern[at] == 'p') return luaL_error(lua, "%%p is not available in playbooks");
    ++at;
  }
  for (int i = 2, arguments = lua_gettop(lua); i <= arguments; ++i) {
    if (!shows_address(lua, i)) continue;
    lua_pushstring(lua, luaL_typename(lua, i));
    lua_replace(lua, i);
  }
  return call_original(lua);
}

int lua_bounded_pattern(lua_State* lua) {
  for (int i = 1; i <= 2; ++i) {
    std::size_t size = 0;
    luaL_checklstring(lua, i, &size);
    if (size > k_pattern_bytes) {
      return luaL_error(lua, "pattern functions take strings of at most %d KiB, not %d",
                        static_cast<int>(k_pattern_bytes >> 10), static_cast<int>(size >> 10));
    }
  }
  return call_original(lua);
}

}  // namespace wb::playbook
