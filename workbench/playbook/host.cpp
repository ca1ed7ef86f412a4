// SPDX-License-Identifier: MIT
// The hidden role playbook-host: one playbook in one sandbox, verbs over standard input and output.
// It opens no file; the owner sends the sources. Messages: docs/add_a_playbook.md.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <mutex>

#include "playbook/json_lua.hpp"
#include "playbook/playbook.hpp"
#include "playbook/sandbox.hpp"
#include "variant/variant.hpp"

namespace wb {
namespace {

constexpr std::size_t k_max_message_bytes = 4u << 20;

/// The wire to the owner. Whole lines only; the watchdog may write the last one.
class Wire {
 public:
  void send(const Json& message) {
    const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const std::lock_guard lock(m_mutex);
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t n = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (n <= 0) _exit(1);  // the owner is gone: there is nobody to work for
      done += static_cast<std::size_t>(n);
    }
  }
  Json receive() {
    std::string line;
    if (!std::getline(std::cin, line)) _exit(1);
    auto message = parse_json(line, "the owner's message", {k_max_message_bytes, 64});
    if (!message) _exit(1);
    return *std::move(message);
  }

 private:
  std::mutex m_mutex;
};

/// What the verb closures need; lives in main's frame for the whole run.
struct Host {
  Wire wire;
  std::unique_ptr<Sandbox> sandbox;
  std::vector<std::string> verbs;
  std::int64_t next_call = 1;
};

Host& host_of(lua_State* lua) {
  return *static_cast<Host*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

/// A verb's error as a Lua value: a table {code, message} that prints as its message.
int raise_verb_error(lua_State* lua, const Json& error) {
  push_json(lua, error);
  lua_newtable(lua);
  lua_pushcfunction(lua, [](lua_State* state) {
    lua_getfield(state, 1, "message");
    return 1;
  });
  lua_setfield(lua, -2, "__tostring");
  lua_setmetatable(lua, -2);
  return lua_error(lua);
}

/// wb.VERB{...}: sends the call and waits for its answer.
int call_verb(lua_State* lua) {
  Host& host = host_of(lua);
  const std::string verb = lua_tostring(lua, lua_upvalueindex(2));
  if (lua_gettop(lua) > 1)
    return luaL_error(lua, "wb.%s takes one table of arguments", verb.c_str());
  Json args = lua_isnoneornil(lua, 1) ? Json::object() : json_from_lua(lua, 1);
  const std::int64_t n = host.next_call++;
  Json answer;
  {
    const Sandbox::Outside outside(*host.sandbox);
    host.wire.send({{"n", n}, {"verb", verb}, {"args", std::move(args)}});
    answer = host.wire.receive();
  }
  if (answer.value("n", std::int64_t{-1}) != n) _exit(1);
  if (const auto error = answer.find("error"); error != answer.end()) {
    return raise_verb_error(lua, *error);
  }
  push_json(lua, answer.value("result", Json()));
  return 1;
}

int unknown_verb(lua_State* lua) {
  Host& host = host_of(lua);
  const std::string name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
  const std::string near = did_you_mean(name, host.verbs);
  return luaL_error(lua, "there is no verb wb.%s%s", name.c_str(),
                    near.empty() ? "" : ("; did you mean wb." + near + "?").c_str());
}

/// The table `wb`: one closure a verb.
void push_verbs(lua_State* lua, Host& host) {
  lua_newtable(lua);
  for (const std::string& verb : host.verbs) {
    lua_pushlightuserdata(lua, &host);
    lua_pushlstring(lua, verb.data(), verb.size());
    lua_pushcclosure(lua, call_verb, 2);
    lua_setfield(lua, -2, verb.c_str());
  }
  lua_newtable(lua);
  lua_pushlightuserdata(lua, &host);
  lua_pushcclosure(lua, unknown_verb, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

Json failure(const Error& error) {
  return {{"failed", {{"code", to_string(error.code)}, {"message", error.cause}}}};
}

/// name, about, arguments and open of the playbook's table, which is on top of the stack.
int push_meta(lua_State* lua) {
  auto& meta = *static_cast<Json*>(lua_touserdata(lua, 2));
  meta = Json::object();
  for (const char* field : {"name", "about", "arguments", "open"}) {
    lua_getfield(lua, 1, field);
    meta[field] = json_from_lua(lua, -1);
    lua_pop(lua, 1);
  }
  lua_getfield(lua, 1, "run");
  if (!lua_isfunction(lua, -1))
    return luaL_error(lua, "the playbook's table has no function 'run'");
  return 0;
}

Result<Json> read_meta(Sandbox& sandbox) {
  lua_State* lua = sandbox.lua();
  if (!lua_istable(lua, -1)) {
    return Error{ErrorCode::invalid, "read", "the playbook", "the file does not return a table",
                 "end it with: return { name = …, about = …, run = function(wb, args) … end }"};
  }
  Json meta;
  lua_pushcfunction(lua, push_meta);
  lua_pushvalue(lua, -2);
  lua_pushlightuserdata(lua, &meta);
  WB_TRY(sandbox.call(2, 0));
  return meta;
}

/// Converts run's result under pcall, so that a function in it is an error and not a crash.
int read_result(lua_State* lua) {
  auto& result = *static_cast<Json*>(lua_touserdata(lua, 2));
  result = json_from_lua(lua, 1);
  return 0;
}

Result<Json> run_playbook(Host& host, const Json& args) {
  Sandbox& sandbox = *host.sandbox;
  lua_State* lua = sandbox.lua();
  lua_getfield(lua, -1, "run");
  push_verbs(lua, host);
  push_json(lua, args);
  WB_TRY(sandbox.call(2, 1));
  Json result;
  lua_pushcfunction(lua, read_result);
  lua_pushvalue(lua, -2);
  lua_pushlightuserdata(lua, &result);
  WB_TRY(sandbox.call(2, 0));
  return result;
}

PlaybookLimits read_limits(const Json& order) {
  const Json limits = order.value("limits", Json::object());
  PlaybookLimits read;
  read.memory_bytes = limits.value("memory_bytes", read.memory_bytes);
  read.instructions = limits.value("instructions", read.instructions);
  read.lua_time = std::chrono::seconds(limits.value("lua_s", read.lua_time.count()));
  return read;
}

}  // namespace

int playbook_host_main() {
  Host host;
  const Json order = host.wire.receive();
  host.verbs = order.value("verbs", std::vector<std::string>{});
  host.sandbox = std::make_unique<Sandbox>(
      read_limits(order), order.value("seed", std::uint64_t{0}),
      order.value("lib", std::map<std::string, std::string>{}),
      Sandbox::Callbacks{[&host](const std::string& text) {
                           host.wire.send({{"print", text}});
                         },
                         [&host](const std::string& reason) {
                           host.wire.send({{"failed", {{"code", "limit"}, {"message", reason}}}});
                           _exit(1);
                         }});
  const auto fail = [&host](const Error& error) {
    host.wire.send(failure(error));
    return 1;
  };
  if (auto loaded = host.sandbox->load(order.value("source", ""), order.value("name", "playbook"));
      !loaded) {
    return fail(loaded.error());
  }
  const auto meta = read_meta(*host.sandbox);
  if (!meta) return fail(meta.error());
  host.wire.send({{"meta", *meta}});
  // The owner opens the session in between; then it says with which arguments to run.
  const Json start = host.wire.receive();
  const auto result = run_playbook(host, start.value("args", Json::object()));
  if (!result) return fail(result.error());
  host.wire.send({{"done", *result}});
  return 0;
}

}  // namespace wb
