// SPDX-License-Identifier: MIT
// Malicious or badly broken playbooks: each ends with its message, in time.
#include <vector>

#include "core/json.hpp"
#include "lua_child.hpp"
#include "support/catch.hpp"
#include "support/torture.hpp"

using namespace wb;
using namespace wb::playbook;
using wb::testing::LuaRun;
using wb::testing::Points;
using wb::testing::run_lua;
using wb::testing::small_limits;

namespace {

/// Against a loop that nobody stops.
constexpr double k_hang_s = 120;

struct Hostile {
  const char* name;
  const char* source;
  const char* fragment;  ///< of "<how it ended>: <message>"
};

/// Ended by Lua itself, by the hook, or by the allocator.
const Hostile k_hostile[] = {
    {"syntax error", "local x = = 1", "parse: test.lua:1:"},
    {"unfinished string", "x = [[", "parse: test.lua:1:"},
    {"endless loop", "while true do end", "limit: it ran more than 3000000 instructions"},
    {"endless pcall loop", "while true do pcall(function() while true do end end) end", "limit: "},
    {"pcall in pcall",
     "local function f() while true do pcall(f) end end while true do pcall(f) end", "limit: "},
    {"endless coroutine", "coroutine.wrap(function() while true do end end)()", "limit: "},
    {"coroutine in pcall",
     "while true do pcall(coroutine.wrap(function() while true do end end)) end", "limit: "},
    {"short coroutines for ever",
     "while true do coroutine.wrap(function() for _ = 1, 900 do end end)() end", "limit: "},
    {"coroutine that yields for ever",
     "local c = coroutine.wrap(function() while true do coroutine.yield() end end) "
     "while true do c() end",
     "limit: "},
    {"xpcall with a looping handler",
     "xpcall(function() error('x') end, function() while true do end end)",
     "it ran more than 3000000 instructions"},
    {"close method that loops",
     "local m = { __close = function() while true do end end } "
     "while true do pcall(function() local x <close> = setmetatable({}, m) end) end",
     "limit: "},
    {"metamethod that loops",
     "local t = setmetatable({}, { __index = function() while true do end end }) return t.x",
     "limit: "},
    {"finalizer", "setmetatable({}, { __gc = function() while true do end end })",
     "__gc is not available in playbooks"},
    {"weak table", "setmetatable({}, { __mode = 'k' })", "__mode is not available"},
    {"10 GB string", "return ('x'):rep(10 << 30)", "resulting string too large"},
    {"1 GB string", "return ('x'):rep(1 << 30)", "limit: it needs more than 16 MiB"},
    {"doubling string", "local s = 'x' while true do s = s .. s end", "limit: it needs more than"},
    {"concat of copies",
     "local t, s = {}, ('x'):rep(10000) for i = 1, 100000 do t[i] = s end return table.concat(t)",
     "limit: it needs more than"},
    {"global table bomb", "local i = 0 while true do i = i + 1 _G[i] = {} end", "limit: "},
    {"table that grows", "local t = {} for i = 1, 1e9 do t[i] = { i } end", "limit: "},
    {"huge pack", "return string.pack('c2000000000', '')", "limit: it needs more than"},
    {"1 MB gsub", "return (('a'):rep(1 << 20)):gsub('a', 'b')", "at most 64 KiB, not 1024"},
    {"1 MB pattern", "return ('a'):find(('a'):rep(1 << 20))", "at most 64 KiB"},
    {"deep recursion", "local function f() return 1 + f() end return f()",
     "limit: it needs more than"},
    {"recursion through pcall", "local function f() pcall(f) error('x') end f()", "test.lua:1: x"},
    {"recursion in tostring",
     "local t t = setmetatable({}, { __tostring = function() return tostring(t) end }) "
     "return tostring(t)",
     "overflow"},
    {"nested source", "return assert(load(('('):rep(100000) .. '1'))", "overflow"},
    {"nested tables in source", "return assert(load('return ' .. ('{'):rep(100000)))", "overflow"},
    {"dump", "return string.dump(function() end)", "attempt to call a nil value (field 'dump')"},
    {"bytecode through load", "return assert(load('\\27Lua\\x54\\0\\x19\\x93'))",
     "attempt to load a binary chunk"},
    {"load of a function", "return load(function() return 'x' end)", "string expected"},
    {"string metatable", "getmetatable('').__index = nil", "attempt to index a boolean value"},
    {"setmetatable of a string", "setmetatable('', {})", "table expected"},
    {"globals' metatable", "setmetatable(_G, {})", "the metatable is protected"},
    {"wide format", "return ('%999999999d'):format(1)", "invalid conversion"},
    {"precise format", "return ('%.999f'):format(1)", "invalid conversion"},
    {"address by format", "return ('%p'):format({})", "%p is not available"},
    {"address behind a NUL", "return ('\\0%5p'):format({})", "%p is not available"},
    {"no such global", "return io.open('x')", "'io' is not defined"},
    {"no os", "return os.time()", "'os' is not defined"},
    {"no debug", "return debug.sethook()", "'debug' is not defined"},
    {"no package", "return package.loaded", "'package' is not defined"},
    {"no dofile", "dofile('/etc/passwd')", "'dofile' is not defined"},
    {"no loadfile", "loadfile('/etc/passwd')", "'loadfile' is not defined"},
    {"require outside", "require('../../../etc/passwd')", "there is no playbook library"},
    {"require of a path", "require('lib/../../x')", "there is no playbook library"},
    {"require of nothing", "require('')", "there is no playbook library"},
    {"unpack of millions", "return table.unpack({}, 1, 1e8)", "too many results"},
    {"collector off", "collectgarbage('stop')", "\"count\" only"},
    {"error without message", "error()", "an error without a message (a nil value)"},
    {"error table", "error({})", "an error without a message (a table value)"},
    {"error function", "error(print)", "an error without a message (a function value)"},
    {"error with message", "error({ message = 'told', where = 'here: ' })", "invalid: here: told"},
    {"error whose message raises",
     "error(setmetatable({}, { __index = function() error('deeper') end }))",
     "an error without a message"},
    {"error whose text raises",
     "error(setmetatable({}, { __tostring = function() error('deeper') end }))",
     "whose message cannot be read"},
    {"error whose text is none",
     "error(setmetatable({}, { __tostring = function() return {} end }))",
     "whose message cannot be read"},
    {"error whose text loops",
     "error(setmetatable({}, { __tostring = function() while true do end end }))", "limit: "},
    {"long error", "error(('x'):rep(1 << 20))", "invalid: test.lua:1: xxxx"},
    {"pairs over table keys", "for _ in pairs({ [{}] = 1 }) do end", "has no fixed order"},
    {"globals behind another _ENV", "local _ENV = { load = load } return load('return os')()",
     "'os' is not defined"},
    {"an _ENV of nothing", "return load('return os', 'x', 't', nil)()", "index a nil value"},
    {"an _ENV that answers all",
     "local _ENV = setmetatable({}, { __index = function() while true do end end }) return io",
     "limit: "},
    {"globals table by way of load", "return load('return _G.debug.getinfo')()",
     "'debug' is not defined"},
    {"package by way of _G", "return rawget(_G, 'package').loaded", "index a nil value"},
    {"metatable of nil", "return getmetatable(nil).__index", "index a nil value"},
    {"metatable for nil", "setmetatable(nil, { __index = _G })", "table expected"},
    {"metatable for a boolean", "setmetatable(true, {})", "table expected"},
    {"metatable of a function", "return getmetatable(print).__call", "index a nil value"},
    {"metatable for a coroutine", "setmetatable(coroutine.running(), {})", "table expected"},
    {"coroutine.close that loops",
     "local m = { __close = function() while true do end end } local c = "
     "coroutine.create(function() "
     "local x <close> = setmetatable({}, m) coroutine.yield() end) coroutine.resume(c) "
     "while true do pcall(coroutine.close, c) end",
     "limit: "},
    {"coroutines inside each other", "local function f() return coroutine.wrap(f)() end return f()",
     "invalid: test.lua:1: test.lua:1:"},
    {"yield from no coroutine", "coroutine.yield()", "outside a coroutine"},
    {"long chain of __index",
     "local t = {} for _ = 1, 5000 do t = setmetatable({}, { __index = t }) end return t.x",
     "chain too long"},
    {"comparison that loops",
     "local m = { __lt = function() while true do end end } "
     "return setmetatable({}, m) < setmetatable({}, m)",
     "limit: "},
    {"replacement that loops", "return ('x'):gsub('x', function() while true do end end)",
     "limit: "},
    {"loop to infinity", "for _ = 1, math.huge do end", "limit: "},
    {"a million code points", "return utf8.codepoint(('x'):rep(1000000), 1, -1)", "too long"},
    {"sort of mixed values", "table.sort({ 1, 'a' })", "attempt to compare"},
};

/// Loops inside C functions or with hooks off: only the watchdog ends them.
const Hostile k_deaf[] = {
    {"pattern bomb", "return (('a'):rep(200)):find(('a-'):rep(25) .. 'b')", "time"},
    {"empty string repeated", "return (''):rep(1 << 60)", "time"},
    {"move of nothing", "return table.move({}, 1, 1 << 60, 2)", "time"},
    {"handler that loops after the limit",
     "xpcall(function() while true do end end, function() while true do end end)",
     "instructions and did not stop"},
    {"pcall around a pattern bomb",
     "while true do pcall(string.find, ('a'):rep(200), ('a-'):rep(25) .. 'b') end", "time"},
};

}  // namespace

TEST_CASE("a hostile playbook ends with its message", "[playbook][hostile]") {
  Points points("G");
  for (const Hostile& hostile : k_hostile) {
    points.begin();
    const auto end = run_lua(hostile.source);
    INFO(hostile.name << ": " << end.text.substr(0, 300) << " after " << end.seconds << " s");
    const bool said = end.text.find(hostile.fragment) != std::string::npos;
    CHECK(said);
    CHECK(end.text.size() < 2200);
    CHECK(end.text.rfind("ok", 0) != 0);
    CHECK(end.seconds < k_hang_s);
    if (said && end.seconds < k_hang_s) points.pass();
  }
}

TEST_CASE("loops that no hook reaches end the process", "[playbook][hostile]") {
  Points points("G");
  const auto by_time = [](const Hostile& hostile) {
    return std::string_view(hostile.fragment) == "time";
  };
  std::vector<LuaRun> runs;  // side by side, as each waits for its watchdog
  for (const Hostile& hostile : k_deaf) {
    PlaybookLimits limits = small_limits();
    // Who is to be stopped by instructions has the time for them.
    limits.lua_time = std::chrono::milliseconds(by_time(hostile) ? 400 : 60'000);
    runs.emplace_back(hostile.source, limits);
  }
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const Hostile& hostile = k_deaf[at];
    points.begin();
    const auto end = runs[at].wait();
    INFO(hostile.name << ": " << end.text << " after " << end.seconds << " s");
    CHECK(end.text.find(by_time(hostile)
                            ? "gave up: it ran longer than 0.4 s inside Lua and did not stop"
                            : hostile.fragment) != std::string::npos);
    CHECK(end.seconds < k_hang_s);
    if (end.seconds < k_hang_s) points.pass();
  }
}

TEST_CASE("a finalizer that is added later never runs", "[playbook][hostile]") {
  const auto end = run_lua(R"(
    local m, ran = {}, false
    local t = setmetatable({}, m)
    m.__gc = function() ran = true end
    t = nil
    for i = 1, 100000 do local garbage = { i } end
    return ran)");
  CHECK(end.text == "ok: false");
}

TEST_CASE("memory that is given back can be used again", "[playbook][unit]") {
  PlaybookLimits limits = small_limits();
  limits.lua_time = std::chrono::minutes(2);  // memory is the matter here, and a sanitizer is slow
  const auto end = run_lua(R"(
    local longest = 0
    for _ = 1, 50 do longest = #(('x'):rep(4 << 20)) end
    local failed = not pcall(string.rep, 'x', 64 << 20)
    return longest == 4 << 20 and failed and #(('y'):rep(4 << 20)) == 4 << 20)",
                           limits);
  CHECK(end.text == "ok: true");
}

TEST_CASE("a sandbox with too little memory for Lua itself is refused", "[playbook][unit]") {
  PlaybookLimits limits = small_limits();
  for (const std::uint64_t bytes : {0u, 1000u, 10'000u}) {
    limits.memory_bytes = bytes;
    CHECK_THROWS_AS(Sandbox(limits, 1, {}, {}), std::bad_alloc);
  }
}
