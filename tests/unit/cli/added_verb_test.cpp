// SPDX-License-Identifier: MIT
// What a verb costs: two new files, its source (here the first part, as verbs/greet.cpp would have
// it) and its test (the second part), and one line of the list. Nothing else names it, and it is
// found everywhere; what the build generates from the table for Python, agents and editors, none of
// it tracked, is in tests/python/test_generated_verbs.py.
#include <fmt/format.h>

#include <filesystem>

#include "cli/command_line.hpp"
#include "core/clock.hpp"
#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/services.hpp"
#include "playbook/agent_file.hpp"
#include "playbook/owner.hpp"
#include "support/catch.hpp"
#include "support/file_systems.hpp"
#include "support/places.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/table.hpp"

namespace wb::verbs {
namespace {

Result<Json> greet_body(const Call& call) {
  return Json{{"greeting", "hello " + call.args.value("whom", "you")},
              {"loud", call.args.value("loud", false)}};
}

std::string greet_text(const Json& answer) {
  return answer["greeting"].get<std::string>() + (answer["loud"].get<bool>() ? "!\n" : "\n");
}

ExitCode greet_exit_code(const Json& answer) {
  return answer["loud"].get<bool>() ? ExitCode::limit : ExitCode::ok;
}

Result<Json> greet_sample(FakeEngine&, const Json& args) {
  return Json{{"greeting", "a dry hello to " + args.value("whom", "you")}, {"loud", false}};
}

}  // namespace

const Verb& verb_greet() {
  static const Verb verb{
      .spec = {.name = "greet",
               .doc = "say hello",
               .arguments = {string_argument("whom", "the one to be greeted").positional(),
                             flag_argument("loud", "with an exclamation mark")},
               .result = {{"greeting", "string: the words"}, {"loud", "bool: as asked for"}},
               .reads_only = true},
      .body = greet_body,
      .text = greet_text,
      .exit_code = greet_exit_code,
      .sample = greet_sample};
  return verb;
}

}  // namespace wb::verbs

using namespace wb;

namespace {

verbs::Table with_greet() {
  using namespace wb::verbs;
  static const std::vector<const Verb*> table{
#define WB_VERB(name) &verb_##name(),
#include "verbs/verb_list.inc"
      WB_VERB(greet)  // the line
#undef WB_VERB
  };
  return table;
}

struct Greeter {
  RealFileSystem file_system;
  RealClock clock;
  engine::Engine engine{engine::Services{.file_system = file_system,
                                         .clock = clock,
                                         .search_path = {{source_dir()}},
                                         .cache_root = {},
                                         .toolchain = nullptr,
                                         .build_options = {},
                                         .open_transport = {},
                                         .hello = {},
                                         .progress = {},
                                         .on_milestone = {},
                                         .workbench_version = {}},
                        verbs::runnable(with_greet())};
};

}  // namespace

TEST_CASE("a verb that was added is a command with options, help and a reference",
          "[cli][added_verb]") {
  const testing::MemoryFileSystem files;
  const auto parsed = cli::parse_command_line({"greet", "Ada", "--loud"}, files, with_greet());
  REQUIRE(std::holds_alternative<cli::Command>(parsed));
  CHECK(std::get<cli::Command>(parsed).verb == "greet");
  CHECK(std::get<cli::Command>(parsed).args == Json{{"whom", "Ada"}, {"loud", true}});
  const auto help = cli::parse_command_line({"greet", "--help"}, files, with_greet());
  REQUIRE(std::holds_alternative<cli::PrintAndExit>(help));
  CHECK(std::get<cli::PrintAndExit>(help).out.find("the one to be greeted") != std::string::npos);
  const auto mistyped = cli::parse_command_line({"greeet"}, files, with_greet());
  REQUIRE(std::holds_alternative<cli::PrintAndExit>(mistyped));
  CHECK(std::get<cli::PrintAndExit>(mistyped).err.find("did you mean greet?") != std::string::npos);
  const std::string page = cli::command_reference(with_greet());
  CHECK(page.find("### `sdpa-wb greet`\n\nsay hello.") != std::string::npos);
  CHECK(page.find("- `greeting` – string: the words") != std::string::npos);
}

TEST_CASE("a verb that was added is answered, printed and has its exit code", "[cli][added_verb]") {
  Greeter greeter;
  const auto answer = greeter.engine.call("greet", {{"whom", "Ada"}, {"loud", true}});
  REQUIRE(answer.ok());
  const verbs::Verb* verb = verbs::find_verb("greet", with_greet());
  REQUIRE(verb != nullptr);
  CHECK(text_of_answer(*verb, *answer) == "hello Ada!\n");
  CHECK(exit_code_of(*verb, *answer) == verbs::ExitCode::limit);
  const auto misspelled = greeter.engine.call("gret", Json::object());
  REQUIRE_FALSE(misspelled.ok());
  CHECK(misspelled.error().next == "did you mean greet?");
  const auto refused = greeter.engine.call("greet", {{"whim", "Ada"}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().next == "did you mean whom?");
}

TEST_CASE("a verb that was added is a function of playbooks, and their dry runs answer it",
          "[cli][added_verb]") {
  Greeter greeter;
  const playbook::PlaybookOptions options{
      binary_dir() / "tests/unit/playbook/playbook_host_for_tests", {}};
  const std::string text =
      "return { name = 'test', about = 'a test', run = function(wb, args) "
      "return wb.greet { whom = 'Ada' }.greeting end }";
  auto host = playbook::HostProcess::start(options, {"books/test.lua", text, {}},
                                           playbook::playbook_verbs(with_greet()), 1, nullptr);
  REQUIRE(host.ok());
  verbs::FakeEngine fake(greeter.engine, {.start = "cpu_unfused"}, with_greet());
  const auto result = host->run(
      Json::object(),
      [&](const std::string& verb, const Json& args) { return fake.answer(verb, args); },
      [](const std::string&) {});
  REQUIRE(result.ok());
  CHECK(*result == "a dry hello to Ada");
  CHECK(fake.calls().size() == 1);
}

TEST_CASE("a verb that was added is in the table that Python, agents and editors read",
          "[cli][added_verb]") {
  const Json table = verbs::verb_table_json(with_greet());
  REQUIRE(table.size() == verbs::verb_table().size() + 1);
  const Json expected{
      {"name", "greet"},
      {"doc", "say hello"},
      {"arguments",
       {{{"name", "whom"},
         {"kind", "string"},
         {"doc", "the one to be greeted"},
         {"required", false},
         {"positional", true}},
        {{"name", "loud"},
         {"kind", "bool"},
         {"doc", "with an exclamation mark"},
         {"required", false}}}},
      {"result", {{"greeting", "string: the words"}, {"loud", "bool: as asked for"}}},
      {"session", "none"},
      {"long", false},
      {"reads_only", true},
      {"destructive", false},
      {"in_playbook", true}};
  CHECK(table.back() == expected);
}

TEST_CASE("the list has a file for each of its lines", "[cli][added_verb]") {
  const fs::path folder = source_dir() / "workbench" / "verbs";
  for (const verbs::Verb* verb : verbs::verb_table()) {
    INFO(verb->spec.name);
    CHECK(fs::exists(folder / fmt::format("{}.cpp", verb->spec.name)));
  }
}
