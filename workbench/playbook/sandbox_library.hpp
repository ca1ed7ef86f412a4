// SPDX-License-Identifier: MIT
// The globals of a playbook: a part of Lua's own library and replacements that keep it
// deterministic and bounded. docs/guide/add_a_playbook.md lists them.
#pragma once

#include <cstdint>
#include <lua.hpp>

namespace wb::playbook {

/// Opens the library in a fresh state whose extra space already points to its Sandbox. Raises a Lua
/// error when memory does not suffice: call it protected.
void open_sandbox_library(lua_State* lua, std::uint64_t seed);

// Private to the library: the replacements, as Lua calls them.

/// tostring and print without addresses, which vary between runs and would break replay.
int lua_plain_tostring(lua_State* lua);
int lua_print(lua_State* lua);
/// string.format without addresses. Upvalue 1: the original.
int lua_plain_format(lua_State* lua);
/// find, match, gmatch and gsub on bounded strings, since matching runs in C where no hook counts.
/// Upvalue 1: the original.
int lua_bounded_pattern(lua_State* lua);

/// pairs and next in a fixed order: whole numbers, other numbers, strings, booleans. Lua's own
/// order depends on addresses. Other keys have no stable order and raise an error.
int lua_sorted_pairs(lua_State* lua);
int lua_sorted_next(lua_State* lua);
/// table.sort as a stable merge sort; Lua's own chooses pivots by the clock in large tables.
int lua_stable_sort(lua_State* lua);

}  // namespace wb::playbook
