// SPDX-License-Identifier: MIT
#include "playbook/sandbox_library.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "playbook/sandbox.hpp"

namespace wb::playbook {

namespace {

constexpr const char* k_loaded = "wb.loaded";

/// load: text only, from a string; the environment may be a table of the playbook.
int load(lua_State* lua) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, 1, &size);
  const char* name = luaL_optstring(lua, 2, "=(load)");
  const bool has_environment = !lua_isnone(lua, 4);
  if (luaL_loadbufferx(lua, text, size, name, "t") != LUA_OK) {
    lua_pushnil(lua);
    lua_insert(lua, -2);
    return 2;
  }
  if (has_environment) {
    lua_pushvalue(lua, 4);
    lua_setupvalue(lua, -2, 1);  // the first upvalue of a chunk is _ENV
  }
  return 1;
}

/// require "lib.NAME": from the sources that the owner sent; each is run once.
int require(lua_State* lua) {
  const std::string name = luaL_checkstring(lua, 1);
  const std::string* source = Sandbox::of(lua).library(name);
  if (source == nullptr) {
    return luaL_error(lua,
                      "there is no playbook library '%s' (files of playbooks/lib/, as lib.NAME)",
                      name.c_str());
  }
  lua_getfield(lua, LUA_REGISTRYINDEX, k_loaded);
  const int loaded = lua_gettop(lua);
  lua_getfield(lua, loaded, name.c_str());
  if (lua_isboolean(lua, -1) && lua_toboolean(lua, -1) == 0) {
    return luaL_error(lua, "playbook library '%s' requires itself", name.c_str());
  }
  if (!lua_isnil(lua, -1)) return 1;
  if (luaL_loadbufferx(lua, source->data(), source->size(), ("@" + name + ".lua").c_str(), "t") !=
      LUA_OK) {
    return lua_error(lua);
  }
  lua_pushboolean(lua, 0);
  lua_setfield(lua, loaded, name.c_str());
  lua_call(lua, 0, 1);
  if (lua_isnil(lua, -1)) lua_pushboolean(lua, 1);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, loaded, name.c_str());
  return 1;
}

/// setmetatable without finalizers, which run with hooks off, beyond all limits. Lua looks for
/// __gc only in this call; a later __gc has no effect.
int set_metatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_argexpected(lua, lua_isnil(lua, 2) || lua_istable(lua, 2), 2, "nil or table");
  if (lua_istable(lua, 2)) {
    for (const char* field : {"__gc", "__mode"}) {
      lua_pushstring(lua, field);
      if (lua_rawget(lua, 2) != LUA_TNIL) {
        return luaL_error(lua, "%s is not available in playbooks", field);
      }
      lua_pop(lua, 1);
    }
  }
  if (luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL) {
    return luaL_error(lua, "the metatable is protected");
  }
  lua_settop(lua, 2);
  lua_setmetatable(lua, 1);
  return 1;
}

int collect_garbage(lua_State* lua) {
  const std::string_view option = luaL_optstring(lua, 1, "count");
  if (option != "count") return luaL_error(lua, "collectgarbage offers \"count\" only");
  lua_pushnumber(lua, static_cast<lua_Number>(lua_gc(lua, LUA_GCCOUNT)));
  return 1;
}

int undefined_global(lua_State* lua) {
  const char* name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
  return luaL_error(lua, "'%s' is not defined (declare locals; playbooks see a part of Lua only)",
                    name);
}

/// Wraps a function of the string library, keeping the original as upvalue 1.
void wrap(lua_State* lua, const char* name, lua_CFunction wrapper) {
  lua_getglobal(lua, "string");
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, wrapper, 1);
  lua_setfield(lua, -2, name);
  lua_pop(lua, 1);
}

void replace_in(lua_State* lua, const char* table, const char* name, lua_CFunction function) {
  lua_getglobal(lua, table);
  if (function == nullptr) {
    lua_pushnil(lua);
  } else {
    lua_pushcfunction(lua, function);
  }
  lua_setfield(lua, -2, name);
  lua_pop(lua, 1);
}

void seed_random(lua_State* lua, std::uint64_t seed) {
  lua_getglobal(lua, "math");
  lua_getfield(lua, -1, "randomseed");
  lua_pushinteger(lua, static_cast<lua_Integer>(seed));
  lua_call(lua, 1, 0);
  lua_pop(lua, 1);
  replace_in(lua, "math", "randomseed", nullptr);
}

/// Hides the metatable shared by all strings.
void lock_string_metatable(lua_State* lua) {
  lua_pushstring(lua, "");
  lua_getmetatable(lua, -1);
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_settop(lua, 0);
}

/// Makes reading an undefined global an error instead of nil.
void guard_globals(lua_State* lua) {
  lua_pushglobaltable(lua);
  lua_newtable(lua);
  lua_pushcfunction(lua, undefined_global);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_settop(lua, 0);
}

}  // namespace

void open_sandbox_library(lua_State* lua, std::uint64_t seed) {
  luaL_requiref(lua, "_G", luaopen_base, 1);
  luaL_requiref(lua, "table", luaopen_table, 1);
  luaL_requiref(lua, "string", luaopen_string, 1);
  luaL_requiref(lua, "math", luaopen_math, 1);
  luaL_requiref(lua, "utf8", luaopen_utf8, 1);
  luaL_requiref(lua, "coroutine", luaopen_coroutine, 1);
  lua_settop(lua, 0);
  for (const char* name : {"dofile", "loadfile", "warn"}) replace_in(lua, "_G", name, nullptr);
  replace_in(lua, "string", "dump", nullptr);
  const luaL_Reg replacements[] = {{"print", lua_print},
                                   {"load", load},
                                   {"require", require},
                                   {"setmetatable", set_metatable},
                                   {"collectgarbage", collect_garbage},
                                   {"tostring", lua_plain_tostring},
                                   {"pairs", lua_sorted_pairs},
                                   {"next", lua_sorted_next}};
  for (const luaL_Reg& entry : replacements) replace_in(lua, "_G", entry.name, entry.func);
  replace_in(lua, "table", "sort", lua_stable_sort);
  for (const char* name : {"find", "match", "gmatch", "gsub"}) wrap(lua, name, lua_bounded_pattern);
  wrap(lua, "format", lua_plain_format);
  seed_random(lua, seed);
  lua_newtable(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, k_loaded);
  lock_string_metatable(lua);
  guard_globals(lua);
}

// Text in playbooks: tostring, print and string.format without addresses; patterns with limits.

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
