// SPDX-License-Identifier: MIT
// Order in playbooks: pairs, next and table.sort give the same order in every run, so that a
// replay makes the same calls.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "playbook/sandbox_library.hpp"

namespace wb::playbook {
namespace {

/// A key of a table. Its text stays alive while the table holds the key.
struct Key {
  enum class Rank { integer, real, string, boolean } rank = Rank::integer;
  lua_Integer integer = 0;  ///< 0 and 1 for booleans
  lua_Number real = 0;
  std::string_view text;

  bool operator<(const Key& other) const {
    return std::tie(rank, integer, real, text) <
           std::tie(other.rank, other.integer, other.real, other.text);
  }
};

Key read_key(lua_State* lua, int index) {
  Key key;
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      if (lua_isinteger(lua, index) != 0) {
        key.integer = lua_tointeger(lua, index);
      } else {
        key.rank = Key::Rank::real;
        key.real = lua_tonumber(lua, index);
      }
      return key;
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, index, &size);
      key.rank = Key::Rank::string;
      key.text = {text, size};
      return key;
    }
    case LUA_TBOOLEAN:
      key.rank = Key::Rank::boolean;
      key.integer = lua_toboolean(lua, index);
      return key;
    default:
      luaL_error(lua,
                 "a table with a %s as key has no fixed order: use numbers or strings as keys, or "
                 "keep a list beside it",
                 luaL_typename(lua, index));
      return key;
  }
}

void push_key(lua_State* lua, const Key& key) {
  switch (key.rank) {
    case Key::Rank::integer:
      lua_pushinteger(lua, key.integer);
      return;
    case Key::Rank::real:
      lua_pushnumber(lua, key.real);
      return;
    case Key::Rank::string:
      lua_pushlstring(lua, key.text.data(), key.text.size());
      return;
    case Key::Rank::boolean:
      lua_pushboolean(lua, static_cast<int>(key.integer));
  }
}

/// One step of pairs: upvalue 1 has the sorted keys, upvalue 2 the position. Removed keys are
/// skipped, as by Lua's own next.
int step_sorted(lua_State* lua) {
  lua_Integer position = lua_tointeger(lua, lua_upvalueindex(2));
  while (true) {
    lua_settop(lua, 1);
    if (lua_rawgeti(lua, lua_upvalueindex(1), ++position) == LUA_TNIL) return 1;
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, 1) != LUA_TNIL) break;
  }
  lua_pushinteger(lua, position);
  lua_replace(lua, lua_upvalueindex(2));
  return 2;
}

/// from[j] < from[i], by the function at index 2 or Lua's own order.
bool is_less(lua_State* lua, int from, lua_Integer j, lua_Integer i) {
  const bool has_order = !lua_isnoneornil(lua, 2);
  if (has_order) lua_pushvalue(lua, 2);
  lua_rawgeti(lua, from, j);
  lua_rawgeti(lua, from, i);
  if (has_order) lua_call(lua, 2, 1);
  const bool less =
      has_order ? lua_toboolean(lua, -1) != 0 : lua_compare(lua, -2, -1, LUA_OPLT) != 0;
  lua_pop(lua, has_order ? 1 : 2);
  return less;
}

/// Merges the sorted runs [low, middle) and [middle, high) of `from` into `to`.
void merge(lua_State* lua, int from, int to, lua_Integer low, lua_Integer middle,
           lua_Integer high) {
  for (lua_Integer i = low, j = middle, k = low; k < high; ++k) {
    const bool take_right = j < high && (i >= middle || is_less(lua, from, j, i));
    lua_rawgeti(lua, from, take_right ? j++ : i++);
    lua_rawseti(lua, to, k);
  }
}

}  // namespace

int lua_sorted_pairs(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (luaL_getmetafield(lua, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 3);
    return 3;
  }
  luaL_checktype(lua, 1, LUA_TTABLE);
  std::vector<Key> keys;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) keys.push_back(read_key(lua, -2));
  std::sort(keys.begin(), keys.end());
  lua_newtable(lua);
  lua_Integer count = 0;
  for (const Key& key : keys) {
    push_key(lua, key);
    lua_rawseti(lua, -2, ++count);
  }
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, step_sorted, 2);
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

int lua_sorted_next(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  const bool from_start = lua_isnil(lua, 2);
  const Key after = from_start ? Key{} : read_key(lua, 2);
  bool found = false;
  Key best;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    const Key key = read_key(lua, -2);
    if ((!from_start && !(after < key)) || (found && !(key < best))) continue;
    best = key;
    found = true;
  }
  if (!found) {
    lua_pushnil(lua);
    return 1;
  }
  push_key(lua, best);
  lua_pushvalue(lua, -1);
  lua_rawget(lua, 1);
  return 2;
}

int lua_stable_sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  const lua_Integer end = static_cast<lua_Integer>(lua_rawlen(lua, 1)) + 1;
  lua_newtable(lua);
  lua_newtable(lua);
  int from = 3, to = 4;
  for (lua_Integer i = 1; i < end; ++i) {
    lua_rawgeti(lua, 1, i);
    lua_rawseti(lua, from, i);
  }
  for (lua_Integer width = 1; width < end - 1; width *= 2) {
    for (lua_Integer low = 1; low < end; low += 2 * width) {
      merge(lua, from, to, low, std::min(low + width, end), std::min(low + 2 * width, end));
    }
    std::swap(from, to);
  }
  // Written back at the end: a comparison that raises leaves the table unchanged.
  for (lua_Integer i = 1; i < end; ++i) {
    lua_rawgeti(lua, from, i);
    lua_rawseti(lua, 1, i);
  }
  return 0;
}

}  // namespace wb::playbook
