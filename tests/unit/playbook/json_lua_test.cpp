// SPDX-License-Identifier: MIT
#include "playbook/json_lua.hpp"
#include "core/json.hpp"

#include <memory>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::playbook;

namespace {

struct CloseState {
  void operator()(lua_State* lua) const { lua_close(lua); }
};

/// The JSON of a Lua expression, or the error's text as a JSON string that starts with "error: ".
Json from_lua(const std::string& source) {
  const std::unique_ptr<lua_State, CloseState> lua(luaL_newstate());
  luaL_openlibs(lua.get());
  Json value;
  lua_pushcfunction(lua.get(), [](lua_State* state) {
    *static_cast<Json*>(lua_touserdata(state, 2)) = json_from_lua(state, 1);
    return 0;
  });
  if (luaL_dostring(lua.get(), source.c_str()) != LUA_OK) return lua_tostring(lua.get(), -1);
  lua_pushlightuserdata(lua.get(), &value);
  if (lua_pcall(lua.get(), 2, 0, 0) != LUA_OK) {
    return std::string("error: ") + lua_tostring(lua.get(), -1);
  }
  return value;
}

bool refuses(const std::string& source, const std::string& fragment) {
  const Json value = from_lua(source);
  INFO(source << " gave " << value.dump().substr(0, 200));
  const bool good = value.is_string() && value.get<std::string>().rfind("error: ", 0) == 0 &&
                    value.get<std::string>().find(fragment) != std::string::npos;
  CHECK(good);
  return good;
}

}  // namespace

TEST_CASE("Lua values become JSON", "[playbook][unit]") {
  CHECK(from_lua("return nil") == Json());
  CHECK(from_lua("return true") == Json(true));
  CHECK(from_lua("return 3").is_number_integer());
  CHECK(from_lua("return 3.0").is_number_float());
  CHECK(from_lua("return math.mininteger") == Json(std::numeric_limits<std::int64_t>::min()));
  CHECK(from_lua("return 'a\\nb'") == Json("a\nb"));
  CHECK(from_lua("return {}") == Json::object());
  CHECK(from_lua("return { 1, 'x', { 2 } }") == Json::parse(R"([1, "x", [2]])"));
  CHECK(from_lua("return { a = 1, b = { c = false } }") ==
        Json::parse(R"({"a": 1, "b": {"c": false}})"));
}

TEST_CASE("what cannot leave is refused with a reason", "[playbook][unit]") {
  CHECK(refuses("return print", "a function cannot leave"));
  CHECK(refuses("return { x = coroutine.create(print) }", "a thread cannot leave"));
  CHECK(refuses("return 0 / 0", "NaN or infinite"));
  CHECK(refuses("return { 1, math.huge }", "NaN or infinite"));
  CHECK(refuses("return 'a\\0b'", "NUL"));
  CHECK(refuses("return { ['a\\0'] = 1 }", "NUL"));
  CHECK(refuses("return { 1, a = 2 }", "mixes positions and names"));
  CHECK(refuses("return { 1, nil, 3 }", "mixes positions and names"));
  CHECK(refuses("return { [1.5] = 1 }", "mixes positions and names"));
  CHECK(refuses("return { [true] = 1 }", "mixes positions and names"));
  CHECK(refuses("local t = {} t.t = t return t", "holds itself"));
  CHECK(refuses("local t = {} for _ = 1, 1000000 do t = { t } end return t", "deeper than 30"));
  CHECK(refuses("local t = {} for i = 1, 200000 do t[i] = i end return t", "100000 parts"));
  // A small graph that would be a huge tree.
  CHECK(refuses("local t = { 1 } for _ = 1, 25 do t = { t, t } end return t", "100000 parts"));
  CHECK(refuses("local s, t = ('x'):rep(1 << 20), {} for i = 1, 1000 do t[i] = s end return t",
                "2 MiB of text"));
}

TEST_CASE("metamethods do not run in a conversion", "[playbook][unit]") {
  CHECK(from_lua("return setmetatable({ a = 1 }, { __index = error, __pairs = error, "
                 "__len = error })") == Json{{"a", 1}});
}

TEST_CASE("JSON becomes Lua and comes back the same", "[playbook][unit]") {
  const std::unique_ptr<lua_State, CloseState> lua(luaL_newstate());
  for (const char* text :
       {"true", "-5", "1.5", "\"text\"", "[1,[2,{\"a\":[]}]]", R"({"a":{"b":[1,2,3]},"c":""})"}) {
    const Json value = Json::parse(text);
    push_json(lua.get(), value);
    const Json back = json_from_lua(lua.get(), -1);
    // Lua has one empty table: an empty list comes back as an empty map.
    const std::string expected = value.dump(), got = back.dump();
    CHECK((got == expected || got == R"([1,[2,{"a":{}}]])"));
    lua_settop(lua.get(), 0);
  }
}

TEST_CASE("null members are absent and huge numbers become real", "[playbook][unit]") {
  const std::unique_ptr<lua_State, CloseState> lua(luaL_newstate());
  push_json(lua.get(), Json::parse(R"({"a":null,"big":18446744073709551615})"));
  CHECK(lua_getfield(lua.get(), 1, "a") == LUA_TNIL);
  CHECK(lua_getfield(lua.get(), 1, "big") == LUA_TNUMBER);
  CHECK(lua_tonumber(lua.get(), -1) == Approx(1.8446744073709552e19));
  CHECK(lua_isinteger(lua.get(), -1) == 0);
}
