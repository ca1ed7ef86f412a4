// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <optional>

#include "lua_child.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"

using namespace wb;
using namespace wb::playbook;
using wb::testing::run_lua;
using wb::testing::run_lua_here;
using wb::testing::small_limits;
using wb::testing::until;

namespace {

std::string run_here(const std::string& source, std::map<std::string, std::string> lib = {}) {
  return run_lua_here(source, small_limits(), std::move(lib),
                      {.print = [](const std::string&) {}, .give_up = [](const std::string&) {}});
}

/// A time for the watchdog that stands still but where the test lets some pass.
class WatchdogTime {
 public:
  std::chrono::steady_clock::time_point now() {
    ++m_looks;
    return m_now.load();
  }
  /// Returns when the watchdog has counted that time.
  void pass(std::chrono::seconds time) {
    until([this] { return m_looks > 0; });  // it knows where to count from
    m_now = m_now.load() + time;
    const int before = m_looks;
    until([&] { return m_looks > before + 1; });
  }

 private:
  std::atomic<int> m_looks{0};
  std::atomic<std::chrono::steady_clock::time_point> m_now{};
};

}  // namespace

TEST_CASE("the globals of a playbook are exactly these", "[playbook][unit]") {
  const std::string names = R"(
    local names = {}
    for name in pairs(_G) do names[#names + 1] = name end
    return table.concat(names, ' '))";
  CHECK(run_here(names) ==
        "ok: _G _VERSION assert collectgarbage coroutine error getmetatable ipairs load math next "
        "pairs pcall print rawequal rawget rawlen rawset require select setmetatable string table "
        "tonumber tostring type utf8 xpcall");
  CHECK(run_here("return tostring(rawget(string, 'dump')) .. tostring(math.randomseed)") ==
        "ok: nilnil");
}

TEST_CASE("pairs and next go in one order", "[playbook][unit]") {
  const std::string build = R"(
    local t = { [3] = 'c', [1] = 'a', z = 1, y = 2, [2.5] = 'r', [true] = 't', [-1] = 'm',
                [math.mininteger] = 'i', [9007199254740993] = 'big', [1e300] = 'huge' }
    local seen = {}
  )";
  const std::string order =
      "ok: -9223372036854775808=i -1=m 1=a 3=c 9007199254740993=big 2.5=r 1e+300=huge y=2 z=1 "
      "true=t";
  const std::string join =
      " seen[#seen + 1] = tostring(k) .. '=' .. v end "
      "return table.concat(seen, ' ')";
  CHECK(run_here(build + "for k, v in pairs(t) do" + join) == order);
  CHECK(run_here(build + "for k, v in next, t do" + join) == order);
  CHECK(run_here("return tostring(next({}))") == "ok: nil");
}

TEST_CASE("pairs leaves out what was removed and takes what was changed", "[playbook][unit]") {
  CHECK(run_here(R"(
    local t, seen = { a = 1, b = 2, c = 3, d = 4 }, {}
    for k, v in pairs(t) do
      seen[#seen + 1] = k .. v
      t.b = nil
      t.d = 9
      t[k] = nil
    end
    return table.concat(seen, ' '))") == "ok: a1 c3 d9");
  CHECK(run_here("local t = setmetatable({}, { __pairs = function(t) return next, { x = 1 } end }) "
                 "for k in pairs(t) do return k end") == "ok: x");
}

TEST_CASE("sort is stable, ordered and keeps the table when a comparison raises",
          "[playbook][unit]") {
  CHECK(run_here(R"(
    local t = {}
    for i = 1, 1000 do t[i] = { key = (i * 7919) % 10, place = i } end
    table.sort(t, function(a, b) return a.key < b.key end)
    for i = 2, 1000 do
      local a, b = t[i - 1], t[i]
      if a.key > b.key or (a.key == b.key and a.place > b.place) then return 'wrong at ' .. i end
    end
    return 'sorted')") == "ok: sorted");
  CHECK(run_here("local t = { 3, 1, 2 } table.sort(t) return table.concat(t, ' ')") == "ok: 1 2 3");
  CHECK(run_here("local t = { 'b', 'a' } table.sort(t, function(a, b) return a > b end) "
                 "return table.concat(t)") == "ok: ba");
  CHECK(run_here("local t = { 2, 1, 'x' } pcall(table.sort, t) return table.concat(t, ' ')") ==
        "ok: 2 1 x");
  // Nonsense orders end too.
  CHECK(run_here("local t = { 3, 1, 2 } table.sort(t, function() return true end) return #t") ==
        "ok: 3");
  CHECK(run_here("local t = {} table.sort(t) return #t") == "ok: 0");
}

TEST_CASE("no text holds an address", "[playbook][unit]") {
  CHECK(run_here("return tostring({}) .. tostring(print) .. tostring(coroutine.create(print))") ==
        "ok: tablefunctionthread");
  CHECK(run_here("return ('%s|%10s|%d'):format({}, print, 3)") == "ok: table|  function|3");
  CHECK(run_here("return ('%s'):format(setmetatable({}, { __tostring = function() return 'me' "
                 "end }))") == "ok: me");
  CHECK(run_here("return tostring(setmetatable({}, { __name = 'T' }))") == "ok: table");
  CHECK(run_here("return ('%% %5.2f %q'):format(1.5, 'x')") == "ok: %  1.50 \"x\"");
}

TEST_CASE("load takes text and an environment", "[playbook][unit]") {
  CHECK(run_here("return load('return x', 'chunk', 't', { x = 5 })()") == "ok: 5");
  CHECK(run_here("return load('return 1 + 1')()") == "ok: 2");
  CHECK(run_here("local f, why = load('return +') return why") ==
        "ok: (load):1: unexpected symbol near '+'");
  CHECK(run_here("return load('return print', 'c', 'bt', {})()") == "ok: nil");
}

TEST_CASE("require runs a library once and names loops", "[playbook][unit]") {
  const std::map<std::string, std::string> lib{
      {"lib.count", "return { n = 0 }"},
      {"lib.user", "local c = require 'lib.count' c.n = c.n + 1 return c"},
      {"lib.loop", "return require 'lib.loop'"},
      {"lib.broken", "return ="},
      {"lib.silent", "local x = 1"}};
  CHECK(run_here("require 'lib.user' require 'lib.user' return require('lib.count').n", lib) ==
        "ok: 1");
  CHECK(run_here("return require 'lib.loop'", lib).find("requires itself") != std::string::npos);
  CHECK(run_here("return require 'lib.broken'", lib).find("lib.broken.lua:1:") !=
        std::string::npos);
  CHECK(run_here("return require 'lib.silent'", lib) == "ok: true");
}

TEST_CASE("reading an undefined global is an error with its line", "[playbook][unit]") {
  CHECK(run_here("local a = 1\nreturn wrods + a").find("test.lua:2: 'wrods' is not defined") !=
        std::string::npos);
  CHECK(run_here("x = 1 return x") == "ok: 1");
}

TEST_CASE("print is capped in lines and bytes and says so", "[playbook][unit]") {
  for (const char* source :
       {"for i = 1, 100000 do print() end", "for i = 1, 1000 do print(('x'):rep(1000)) end",
        "local s = ('x'):rep(1 << 20) print(s, s, s, s) print({}, nil, 1)"}) {
    std::size_t lines = 0, bytes = 0;
    std::string last;
    Sandbox sandbox(small_limits(), 1, {},
                    {.print =
                         [&](const std::string& text) {
                           ++lines;
                           bytes += text.size();
                           last = text;
                         },
                     .give_up = [](const std::string&) {}});
    REQUIRE(sandbox.load(source, "test.lua"));
    CHECK(lines <= 201);
    CHECK(bytes <= (16u << 10) + 200);
    if (lines > 2) {
      CHECK(last.find("silent from here on") != std::string::npos);
    } else {
      CHECK(last == "table\tnil\t1");
    }
  }
}

TEST_CASE("time outside Lua does not count", "[playbook][unit]") {
  const bool is_outside = GENERATE(true, false);
  std::atomic<bool> gave_up{false};
  WatchdogTime time;
  Sandbox sandbox(small_limits(), 1, {},
                  {.print = [](const std::string&) {},
                   .give_up = [&](const std::string&) { gave_up = true; },
                   .now = [&] { return time.now(); }});
  lua_pushlightuserdata(sandbox.lua(), &time);
  lua_pushboolean(sandbox.lua(), is_outside ? 1 : 0);
  const auto an_hour_passes = [](lua_State* lua) {
    std::optional<Sandbox::VerbCallScope> outside;
    if (lua_toboolean(lua, lua_upvalueindex(2)) != 0) outside.emplace(Sandbox::of(lua));
    auto* const watched = static_cast<WatchdogTime*>(lua_touserdata(lua, lua_upvalueindex(1)));
    watched->pass(std::chrono::hours(1));
    return 0;
  };
  lua_pushcclosure(sandbox.lua(), an_hour_passes, 2);
  CHECK(sandbox.call(0, 0).ok() == is_outside);
  CHECK(gave_up != is_outside);
}

TEST_CASE("instructions are counted over all calls of one sandbox", "[playbook][unit]") {
  PlaybookLimits limits = small_limits();
  limits.lua_time = std::chrono::seconds(20);
  Sandbox sandbox(limits, 1, {}, {.print = {}, .give_up = {}});
  const std::string two_million = "for _ = 1, 2000000 do end";  // one instruction a turn
  CHECK(sandbox.load(two_million, "a.lua").ok());
  const auto second = sandbox.load(two_million, "b.lua");
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == ErrorCode::limit);
  CHECK(second.error().cause == "it ran more than 3000000 instructions");
}
