// SPDX-License-Identifier: MIT
// Converts values between JSON and Lua. Both directions limit depth and size, so that neither a
// playbook nor an answer can exhaust the other side.
#pragma once

#include <lua.hpp>

#include "core/json_fwd.hpp"

namespace wb::playbook {

/// Pushes one value. JSON null becomes nil, so a null member of an object is absent. Raises a Lua
/// error when the sandbox's memory does not suffice: call it protected.
void push_json(lua_State* lua, const Json& value);

/// The value at `index`, read without metamethods. A table with exactly the keys 1..n is an array;
/// the empty table is an empty object. Raises a Lua error (never returns) for functions, NaN,
/// infinity, NUL bytes, cycles or depth above 30, tables with mixed keys, more than 100,000 values
/// and more than 2 MiB of text.
Json json_from_lua(lua_State* lua, int index);

}  // namespace wb::playbook
