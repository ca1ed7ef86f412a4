// SPDX-License-Identifier: MIT
#include "playbook/json_lua.hpp"
#include "core/json.hpp"

#include <cmath>
#include <cstring>
#include <string>

namespace wb::playbook {
namespace {

constexpr int k_max_depth = 30;  // a message adds two levels, and parsers accept 32
constexpr int k_max_values = 100'000;
constexpr std::size_t k_max_text_bytes = 2u << 20;

/// The size of one conversion so far.
struct Taken {
  int values = 0;
  std::size_t text_bytes = 0;  ///< a table may hold one long string many times
};

Json read_value(lua_State* lua, int index, int depth, Taken& taken);

std::string read_string(lua_State* lua, int index, Taken& taken) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, index, &size);
  taken.text_bytes += size;
  if (taken.text_bytes > k_max_text_bytes) {
    luaL_error(lua, "a value holds more than %d MiB of text",
               static_cast<int>(k_max_text_bytes >> 20));
  }
  if (std::memchr(text, 0, size) != nullptr) luaL_error(lua, "a string holds a NUL byte");
  return {text, size};
}

/// n when the keys are exactly 1..n, else -1.
lua_Integer array_length(lua_State* lua, int index) {
  const auto length = static_cast<lua_Integer>(lua_rawlen(lua, index));
  if (length == 0) return -1;
  lua_Integer keys = 0;
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) ++keys;
  return keys == length ? length : -1;
}

Json read_table(lua_State* lua, int index, int depth, Taken& taken) {
  if (depth > k_max_depth) {
    luaL_error(lua, "a table nests deeper than %d, or holds itself", k_max_depth);
  }
  luaL_checkstack(lua, 8, "a table nests too deeply");
  if (const lua_Integer length = array_length(lua, index); length >= 0) {
    Json list = Json::array();
    for (lua_Integer i = 1; i <= length; ++i) {
      lua_rawgeti(lua, index, i);
      list.push_back(read_value(lua, lua_gettop(lua), depth + 1, taken));
      lua_pop(lua, 1);
    }
    return list;
  }
  Json object = Json::object();
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING) {
      luaL_error(lua, "a table mixes positions and names, or has a key that is neither");
    }
    std::string key = read_string(lua, -2, taken);
    object[std::move(key)] = read_value(lua, lua_gettop(lua), depth + 1, taken);
  }
  return object;
}

Json read_value(lua_State* lua, int index, int depth, Taken& taken) {
  if (++taken.values > k_max_values)
    luaL_error(lua, "a value has more than %d parts", k_max_values);
  switch (lua_type(lua, index)) {
    case LUA_TNIL:
      return nullptr;
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, index) != 0;
    case LUA_TNUMBER:
      if (lua_isinteger(lua, index) != 0) {
        return static_cast<std::int64_t>(lua_tointeger(lua, index));
      }
      if (!std::isfinite(lua_tonumber(lua, index))) luaL_error(lua, "a number is NaN or infinite");
      return static_cast<double>(lua_tonumber(lua, index));
    case LUA_TSTRING:
      return read_string(lua, index, taken);
    case LUA_TTABLE:
      return read_table(lua, index, depth, taken);
    default:
      luaL_error(lua, "a %s cannot leave the playbook", luaL_typename(lua, index));
      return nullptr;
  }
}

}  // namespace

void push_json(lua_State* lua, const Json& value) {
  luaL_checkstack(lua, 8, "an answer nests too deeply");
  switch (value.type()) {
    case Json::value_t::boolean:
      lua_pushboolean(lua, value.get<bool>() ? 1 : 0);
      return;
    case Json::value_t::number_unsigned:
      if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(LUA_MAXINTEGER)) {
        lua_pushnumber(lua, value.get<double>());
        return;
      }
      [[fallthrough]];
    case Json::value_t::number_integer:
      lua_pushinteger(lua, static_cast<lua_Integer>(value.get<std::int64_t>()));
      return;
    case Json::value_t::number_float:
      lua_pushnumber(lua, value.get<double>());
      return;
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      lua_pushlstring(lua, text.data(), text.size());
      return;
    }
    case Json::value_t::array: {
      lua_createtable(lua, static_cast<int>(value.size()), 0);
      lua_Integer position = 0;
      for (const Json& item : value) {
        push_json(lua, item);
        lua_rawseti(lua, -2, ++position);
      }
      return;
    }
    case Json::value_t::object:
      lua_createtable(lua, 0, static_cast<int>(value.size()));
      for (const auto& [key, item] : value.items()) {
        lua_pushlstring(lua, key.data(), key.size());
        push_json(lua, item);
        lua_rawset(lua, -3);
      }
      return;
    default:
      lua_pushnil(lua);
  }
}

Json json_from_lua(lua_State* lua, int index) {
  Taken taken;
  return read_value(lua, lua_absindex(lua, index), 1, taken);
}

}  // namespace wb::playbook
