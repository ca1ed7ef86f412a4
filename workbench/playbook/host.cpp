// SPDX-License-Identifier: MIT
// The hidden role playbook-host: one playbook in one sandbox, with verbs over standard input and
// output. It opens no file; the owner sends the sources. Messages: docs/guide/add_a_playbook.md.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <mutex>
#include <optional>

#include "core/json.hpp"
#include "playbook/json_lua.hpp"
#include "playbook/owner.hpp"
#include "playbook/playbook.hpp"
#include "playbook/sandbox.hpp"
#include "variant/variant.hpp"

namespace wb::playbook {
namespace {

constexpr const char* k_run = "wb.run";  ///< registry key of the playbook's function

/// The wire to the owner. Whole lines only; the watchdog may write the last one.
class Wire {
 public:
  void send(const Json& message) {
    const std::string line = wire_line(message) + "\n";
    const std::lock_guard lock(m_mutex);
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t n = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (n <= 0) _exit(1);  // the owner has ended
      done += static_cast<std::size_t>(n);
    }
  }
  Json receive() {
    std::string line;
    if (!std::getline(std::cin, line)) _exit(1);
    auto message = parse_json(line, "the owner's message", k_wire_limits);
    if (!message || !message->is_object()) _exit(1);
    return *std::move(message);
  }

 private:
  std::mutex m_mutex;
};

/// State for the verb closures; lives in main's frame for the whole run.
struct Host {
  Wire wire;
  std::optional<Sandbox> sandbox;
  std::vector<std::string> verbs;
  std::int64_t next_call = 1;
};

Host& host_of(lua_State* lua) {
  return *static_cast<Host*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

/// Raises a verb's error as a Lua table {code, message, where} that prints as where + message.
int raise_verb_error(lua_State* lua, const Json& error) {
  const auto part = [&](const char* name) {
    const auto found = error.find(name);
    return found != error.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  lua_newtable(lua);
  for (const char* name : {"code", "message"}) {
    const std::string text = part(name);
    lua_pushlstring(lua, text.data(), text.size());
    lua_setfield(lua, -2, name);
  }
  luaL_where(lua, 1);
  lua_setfield(lua, -2, "where");
  lua_newtable(lua);
  lua_pushcfunction(lua, [](lua_State* state) {
    lua_getfield(state, 1, "where");
    lua_getfield(state, 1, "message");
    lua_concat(state, 2);
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
  if (lua_gettop(lua) > 1 || !(lua_isnoneornil(lua, 1) || lua_istable(lua, 1))) {
    return luaL_error(lua, "wb.%s takes one table of named arguments: wb.%s{name = value, ...}",
                      verb.c_str(), verb.c_str());
  }
  Json args = lua_isnoneornil(lua, 1) ? Json::object() : json_from_lua(lua, 1);
  host.sandbox->count_call(lua);
  const std::int64_t n = host.next_call++;
  Json answer;
  {
    const Sandbox::VerbCallScope outside(*host.sandbox);
    host.wire.send({{"n", n}, {"verb", verb}, {"args", std::move(args)}});
    answer = host.wire.receive();
  }
  if (answer.value("n", Json()) != n) _exit(1);
  if (const auto error = answer.find("error"); error != answer.end()) {
    return raise_verb_error(lua, *error);
  }
  push_json(lua, answer.value("result", Json()));
  return 1;
}

int unknown_verb(lua_State* lua) {
  Host& host = host_of(lua);
  const std::string name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
  const std::string near = variant::did_you_mean(name, host.verbs);
  return luaL_error(lua, "there is no verb wb.%s%s", name.c_str(),
                    near.empty() ? "" : ("; did you mean wb." + near + "?").c_str());
}

/// Makes the table `wb` with one closure per verb.
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

/// Called protected. Reads name, about, arguments and open of the playbook's table (argument 1)
/// into the Json (argument 2). Stores its function for start_run, so that the table is read only
/// once.
int take_meta(lua_State* lua) {
  auto& meta = *static_cast<Json*>(lua_touserdata(lua, 2));
  if (!lua_istable(lua, 1)) {
    return luaL_error(lua,
                      "the file does not return a table; end it with: "
                      "return { name = ..., about = ..., run = function(wb, args) ... end }");
  }
  meta = Json::object();
  for (const char* field : {"name", "about", "arguments", "open"}) {
    lua_pushstring(lua, field);
    lua_rawget(lua, 1);
    meta[field] = json_from_lua(lua, -1);
    lua_pop(lua, 1);
  }
  lua_pushstring(lua, "run");
  if (lua_rawget(lua, 1) != LUA_TFUNCTION) {
    return luaL_error(lua, "the playbook's table has no function 'run'");
  }
  lua_setfield(lua, LUA_REGISTRYINDEX, k_run);
  return 0;
}

Result<Json> read_meta(Sandbox& sandbox) {
  lua_State* lua = sandbox.lua();
  Json meta;
  lua_pushcfunction(lua, take_meta);
  lua_insert(lua, -2);
  lua_pushlightuserdata(lua, &meta);
  WB_TRY(sandbox.call(2, 0));
  return meta;
}

struct RunOrder {
  Host& host;
  const Json& args;
  Json result;
};

/// Called protected. Calls run(wb, args) and converts its result here, so that a function in it is
/// an error.
int start_run(lua_State* lua) {
  auto& order = *static_cast<RunOrder*>(lua_touserdata(lua, 1));
  lua_getfield(lua, LUA_REGISTRYINDEX, k_run);
  push_verbs(lua, order.host);
  push_json(lua, order.args);
  lua_call(lua, 2, 1);
  order.result = json_from_lua(lua, -1);
  return 0;
}

Result<Json> run_playbook(Host& host, const Json& args) {
  RunOrder order{host, args, {}};
  lua_State* lua = host.sandbox->lua();
  lua_pushcfunction(lua, start_run);
  lua_pushlightuserdata(lua, &order);
  WB_TRY(host.sandbox->call(1, 0));
  return std::move(order.result);
}

PlaybookLimits read_limits(const Json& limits) {
  PlaybookLimits read;
  read.memory_bytes = limits.value("memory_bytes", read.memory_bytes);
  read.instructions = limits.value("instructions", read.instructions);
  read.calls = limits.value("calls", read.calls);
  read.lua_time = std::chrono::milliseconds(limits.value("lua_ms", read.lua_time.count()));
  return read;
}

Sandbox::Callbacks callbacks(Host& host) {
  return {.print =
              [&host](const std::string& text) {
                host.wire.send({{"print", text}});
              },
          .give_up =
              [&host](const std::string& reason) {
                host.wire.send(failure(Error{ErrorCode::limit, "", "", reason, ""}));
                _exit(1);
              }};
}

Result<Json> load_and_run(Host& host, const Json& order) {
  host.verbs = order.value("verbs", host.verbs);
  host.sandbox.emplace(read_limits(order.value("limits", Json::object())),
                       order.value("seed", std::uint64_t{0}),
                       order.value("lib", std::map<std::string, std::string>{}), callbacks(host));
  WB_TRY(host.sandbox->load(order.value("source", ""), order.value("name", "playbook")));
  WB_TRY_ASSIGN(const Json meta, read_meta(*host.sandbox));
  host.wire.send({{"meta", meta}});
  // The owner opens the session in between and then sends the arguments of the run.
  const Json start = host.wire.receive();
  return run_playbook(host, start.value("args", Json::object()));
}

}  // namespace

int playbook_host_main() {
  Host host;
  const Json order = host.wire.receive();
  const Result<Json> result = load_and_run(host, order);
  host.wire.send(result ? Json{{"done", *result}} : failure(result.error()));
  return result ? 0 : 1;
}

}  // namespace wb::playbook
