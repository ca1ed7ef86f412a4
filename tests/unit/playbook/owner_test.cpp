// SPDX-License-Identifier: MIT
// The owner against the real host process: messages, limits, determinism.
#include "playbook/owner.hpp"
#include "core/json.hpp"

#include <sys/stat.h>

#include <fstream>

#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::playbook;

namespace {

/// The time is for a busy machine; what must end by time sets its own.
PlaybookOptions options() {
  PlaybookOptions options{binary_dir() / "tests/unit/playbook/playbook_host_for_tests", {}};
  options.limits.memory_bytes = 16u << 20;
  options.limits.instructions = 5'000'000;
  options.limits.lua_time = std::chrono::seconds(5);
  options.limits.calls = 50;
  return options;
}

struct Played {
  Result<Json> result;
  std::vector<std::pair<std::string, Json>> calls;
  std::vector<std::string> prints;
};

Result<Json> echo(const std::string& verb, const Json& args) {
  if (verb == "check") {
    return Error{ErrorCode::not_found, "find", "the variant x", "there is none", "name another"};
  }
  if (verb == "close") return Error{ErrorCode::canceled, "go on", "", "a stop was requested", ""};
  if (verb == "show") return Json{{"text", std::string(20u << 20, 'x')}};
  return Json{{"verb", verb}, {"args", args}, {"none", nullptr}};
}

Played play_file(const std::string& text, std::uint64_t seed = 1,
                 const PlaybookOptions& with = options()) {
  Played played{Json(), {}, {}};
  auto host = HostProcess::start(with, {"books/test.lua", text, {}},
                                 {"iterate", "note", "check", "close", "show"}, seed, nullptr);
  if (!host) {
    played.result = std::move(host).error();
    return played;
  }
  played.result = host->run(
      Json::object(),
      [&](const std::string& verb, const Json& verb_args) {
        played.calls.emplace_back(verb, verb_args);
        return echo(verb, verb_args);
      },
      [&](const std::string& line) { played.prints.push_back(line); });
  return played;
}

Played play(const std::string& body, std::uint64_t seed = 1) {
  return play_file(
      "return { name = 'test', about = 'a test', run = function(wb, args) " + body + " end }",
      seed);
}

void check_fails(const Played& played, ErrorCode code, const std::string& fragment) {
  REQUIRE_FALSE(played.result.ok());
  INFO(played.result.error().message());
  CHECK(played.result.error().code == code);
  CHECK(played.result.error().message().find(fragment) != std::string::npos);
}

}  // namespace

TEST_CASE("a playbook calls verbs and returns a value", "[playbook][process]") {
  const Played played = play(R"(
    local answer = wb.iterate { variant = 'x', list = { 1, 2 } }
    print('saw', answer.verb, answer.none)
    wb.note()
    return { verb = answer.verb, second = answer.args.list[2] })");
  REQUIRE(played.result.ok());
  CHECK(*played.result == Json{{"verb", "iterate"}, {"second", 2}});
  REQUIRE(played.calls.size() == 2);
  CHECK(played.calls[0].second == Json::parse(R"({"variant":"x","list":[1,2]})"));
  CHECK(played.calls[1].second == Json::object());
  CHECK(played.prints == std::vector<std::string>{"saw\titerate\tnil"});
}

TEST_CASE("meta and arguments", "[playbook][process]") {
  const auto host = HostProcess::start(
      options(),
      {"t.lua",
       R"(return { name = 'n', about = 'a', open = { start = 'k', evaluations = 3 },
                 arguments = { rounds = { default = 3, doc = 'how many' } },
                 run = function() end })",
       {}},
      {}, 1, nullptr);
  REQUIRE(host.ok());
  CHECK(host->meta().name == "n");
  CHECK(host->meta().open == Json{{"start", "k"}, {"evaluations", 3}});
  CHECK(*complete_arguments(host->meta(), Json::object()) == Json{{"rounds", "3"}});
  CHECK(*complete_arguments(host->meta(), Json{{"rounds", "9"}}) == Json{{"rounds", "9"}});
  const auto unknown = complete_arguments(host->meta(), Json{{"round", "9"}});
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find("did you mean rounds?") != std::string::npos);
}

TEST_CASE("a file that is no playbook is refused before anything runs", "[playbook][process]") {
  const std::pair<const char*, const char*> files[] = {
      {"return 5", "does not return a table"},
      {"", "does not return a table"},
      {"return { name = 'x', about = 'y' }", "has no function 'run'"},
      {"return { about = 'y', run = function() end }", "name"},
      {"return { name = 'x', run = function() end }", "about"},
      {"return { name = 5, about = 'y', run = function() end }", "name"},
      {"return { name = 'x', about = 'y', open = 5, run = function() end }", "open"},
      {"return { name = 'x', about = 'y', arguments = { 'a' }, run = function() end }",
       "arguments"},
      {"return { name = 'x', about = 'y', arguments = { a = 3 }, run = function() end }",
       "its argument \"a\""},
      {"return { name = 'x', about = 'y', open = { f = print }, run = function() end }",
       "a function cannot leave"},
      {"wb.note { text = 'early' }", "'wb' is not defined"},
      {"error('at load')", "test.lua:1: at load"},
      {"return setmetatable({}, { __index = function() return print end })", "no function 'run'"},
  };
  for (const auto& [text, fragment] : files) {
    INFO(text);
    check_fails(play_file(text), ErrorCode::invalid, fragment);
  }
  check_fails(play_file("return {"), ErrorCode::parse, "test.lua:1:");
  check_fails(play_file("while true do end"), ErrorCode::limit, "instructions");
}

TEST_CASE("what is printed while loading is not lost", "[playbook][process]") {
  const Played played = play_file(
      "print('loading') return { name = 'x', about = 'y', run = function() "
      "print('running') end }");
  REQUIRE(played.result.ok());
  CHECK(played.prints == std::vector<std::string>{"loading", "running"});
}

TEST_CASE("wrong calls are errors with a line", "[playbook][process]") {
  check_fails(play("wb.itterate {}"), ErrorCode::invalid, "did you mean wb.iterate?");
  check_fails(play("wb.open {}"), ErrorCode::invalid, "there is no verb wb.open");
  check_fails(play("wb:note { text = 'x' }"), ErrorCode::invalid, "takes one table");
  check_fails(play("wb.note('x')"), ErrorCode::invalid, "takes one table");
  check_fails(play("wb.note { text = print }"), ErrorCode::invalid, "a function cannot leave");
  check_fails(play("local t = {} t.t = t wb.note(t)"), ErrorCode::invalid, "holds itself");
  check_fails(play("wb.note { text = ('x'):rep(3 << 20) }"), ErrorCode::invalid, "2 MiB");
  check_fails(play("local s, t = ('x'):rep(1 << 20), {} for i = 1, 1000 do t[i] = s end "
                   "wb.note { list = t }"),
              ErrorCode::invalid, "2 MiB");
  check_fails(play("wb.note { text = 'a\\0b' }"), ErrorCode::invalid, "NUL");
  check_fails(play("return print"), ErrorCode::invalid, "a function cannot leave");
  check_fails(play("local t = {} t[1] = t return t"), ErrorCode::invalid, "holds itself");
  check_fails(play("return 0/0"), ErrorCode::invalid, "NaN");
  check_fails(play("coroutine.yield()"), ErrorCode::invalid, "outside a coroutine");
}

TEST_CASE("bytes that JSON must escape or replace arrive", "[playbook][process]") {
  const Played played =
      play("wb.note { text = ('\\1'):rep(1 << 20) } wb.note { text = '\\xff' } return 'ä'");
  REQUIRE(played.result.ok());
  CHECK(played.calls[0].second["text"].get<std::string>().size() == 1u << 20);
  CHECK(played.calls[1].second["text"] == "\xef\xbf\xbd");
  CHECK(*played.result == "ä");
}

TEST_CASE("a verb's error is a value with code and message", "[playbook][process]") {
  const Played caught = play(R"(
    local fine, why = pcall(wb.check, { variant = 'x' })
    return { fine = fine, code = why.code, message = why.message, text = tostring(why) })");
  REQUIRE(caught.result.ok());
  CHECK((*caught.result)["fine"] == false);
  CHECK((*caught.result)["code"] == "not_found");
  CHECK((*caught.result)["message"] == "cannot find the variant x: there is none; name another");
  check_fails(play("\n\nwb.check { variant = 'x' }"), ErrorCode::invalid,
              "test.lua:3: cannot find the variant x: there is none; name another");
}

TEST_CASE("an answer that is too large becomes an error of the call", "[playbook][process]") {
  const Played played = play("local fine, why = pcall(wb.show, { id = 'e1' }) return why.code");
  REQUIRE(played.result.ok());
  CHECK(*played.result == "limit");
}

TEST_CASE("verbs can be called from coroutines", "[playbook][process]") {
  const Played played =
      play("return coroutine.wrap(function() return wb.note { text = 'in' }.args.text end)()");
  REQUIRE(played.result.ok());
  CHECK(*played.result == "in");
}

TEST_CASE("calls are counted, and pcall does not help", "[playbook][process]") {
  const Played played = play("while true do pcall(wb.note, { text = 'again' }) end");
  check_fails(played, ErrorCode::limit, "it called more than 50 verbs");
  CHECK(played.calls.size() == 50);
}

TEST_CASE("a stop ends the run at once", "[playbook][process]") {
  check_fails(play("pcall(wb.close) while true do end"), ErrorCode::canceled, "stop");
  std::atomic<bool> stop{false};
  auto host = HostProcess::start(
      options(), {"t.lua", "return { name = 'n', about = 'a', run = function() end }", {}}, {}, 1,
      &stop);
  REQUIRE(host.ok());
  stop = true;
  const auto result = host->run(
      Json::object(), [](const std::string&, const Json&) { return Json(); },
      [](const std::string&) {});
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == ErrorCode::canceled);
}

TEST_CASE("hostile playbooks reach the owner as one limit error", "[playbook][hostile]") {
  check_fails(play("while true do end"), ErrorCode::limit, "instructions");
  check_fails(play("return ('x'):rep(1 << 30)"), ErrorCode::limit, "16 MiB");
  PlaybookOptions brief = options();
  brief.limits.lua_time = std::chrono::milliseconds(500);
  check_fails(play_file("return (('a'):rep(200)):find(('a-'):rep(25) .. 'b')", 1, brief),
              ErrorCode::limit, "0.5 s inside Lua and did not stop");
  const Played flood = play("while true do print('x') end");
  check_fails(flood, ErrorCode::limit, "instructions");
  CHECK(flood.prints.size() <= 201);
}

TEST_CASE("two processes with one seed agree, another seed does not", "[playbook][process]") {
  const std::string body = R"(
    local t, seen = {}, {}
    for i = 1, 200 do t['key' .. math.random(1, 1000000)] = i end
    for k, v in pairs(t) do seen[#seen + 1] = k .. '=' .. v end
    local list = {}
    for i = 1, 500 do list[i] = { math.random(0, 9), i } end
    table.sort(list, function(a, b) return a[1] < b[1] end)
    for _, item in ipairs(list) do seen[#seen + 1] = item[2] end
    local function f() end
    seen[#seen + 1] = tostring(t) .. tostring(f) .. ('%s'):format(f)
    for _ = 1, 20 do seen[#seen + 1] = math.random() end
    return seen)";
  const Played first = play(body, 5), second = play(body, 5), other = play(body, 6);
  REQUIRE(first.result.ok());
  CHECK(first.result->size() > 600);
  CHECK(*first.result == *second.result);
  CHECK_FALSE(*first.result == *other.result);
}

TEST_CASE("a process that is no host is found out", "[playbook][hostile]") {
  const auto start = [](const fs::path& program) {
    PlaybookOptions wrong = options();
    wrong.host_program = program;
    wrong.limits.lua_time = std::chrono::milliseconds(1);
    return HostProcess::start(wrong, {"t.lua", "return {}", {}}, {}, 1, nullptr);
  };
  const auto none = start("/nowhere/sdpa-wb");
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::not_found);
  const auto babbler = start("/usr/bin/yes");
  REQUIRE_FALSE(babbler.ok());
  CHECK(babbler.error().code == ErrorCode::security);
  const auto folder = TempDirectory::create("wb-playbook-");
  REQUIRE(folder.ok());
  const auto script = [&](const std::string& name, const std::string& text) {
    const fs::path path = folder->path() / name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  };
  const auto quitter = start(script("quitter", "echo cannot start >&2; read line; exit 3"));
  REQUIRE_FALSE(quitter.ok());
  CHECK(quitter.error().code == ErrorCode::internal);
  CHECK(quitter.error().message().find("cannot start") != std::string::npos);
  const auto mute = start(script("mute", "read line; sleep 60"));
  REQUIRE_FALSE(mute.ok());
  CHECK(mute.error().code == ErrorCode::limit);
  CHECK(mute.error().message().find("was killed") != std::string::npos);
}
