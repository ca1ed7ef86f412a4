// SPDX-License-Identifier: MIT
// The command line: its verbs, its messages, its progress line.
#include "cli/command_line.hpp"

#include "cli/printing.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/file_systems.hpp"
#include "verbs/table.hpp"

using namespace wb;
using namespace wb::cli;
using namespace wb::verbs;

namespace {

std::variant<Command, PrintAndExit> parse(const std::vector<std::string>& words) {
  static testing::MemoryFileSystem file_system;
  return parse_command_line(words, file_system);
}
Command command(const std::vector<std::string>& words) {
  auto parsed = parse(words);
  if (const auto* text = std::get_if<PrintAndExit>(&parsed)) FAIL(text->err);
  return std::get<Command>(parsed);
}
PrintAndExit refusal(const std::vector<std::string>& words) {
  auto parsed = parse(words);
  REQUIRE(std::holds_alternative<PrintAndExit>(parsed));
  return std::get<PrintAndExit>(parsed);
}

}  // namespace

TEST_CASE("every verb of the table is a command", "[cli][command_line]") {
  for (const verbs::Verb* one : verbs::verb_table()) {
    const VerbSpec& verb = one->spec;
    std::vector<std::string> words;
    std::string name(verb.name);
    if (const auto split = name.find('_'); split != std::string::npos) {
      words = {name.substr(0, split), name.substr(split + 1)};
    } else {
      words = {name};
    }
    words.emplace_back("--help");
    INFO(name);
    const PrintAndExit help = refusal(words);
    CHECK(help.exit_code == 0);
  }
}

TEST_CASE("arguments become typed JSON", "[cli][command_line]") {
  const Command iterate = command({"iterate", "--variant", "cpu_tiled", "--hypothesis", "a reason",
                                   "--predicted-speedup", "1.5", "--configuration", "TILE_M=32",
                                   "TILE_N=64", "--session", "s"});
  CHECK(iterate.verb == "iterate");
  CHECK(iterate.options.session == "s");
  CHECK(iterate.args == Json{{"variant", "cpu_tiled"},
                             {"hypothesis", "a reason"},
                             {"predicted_speedup", 1.5},
                             {"configuration", {{"TILE_M", 32}, {"TILE_N", 64}}}});
  const Command open =
      command({"open", "--start", "a", "--rivals", "r1", "r2", "--evaluations", "3", "--json"});
  CHECK(open.options.json);
  CHECK(open.args == Json{{"start", "a"}, {"rivals", {"r1", "r2"}}, {"evaluations", 3}});
  CHECK(command({"resume", "--replan", "--session", "s"}).args == Json{{"replan", true}});
  CHECK(command({"check", "cpu_tiled", "--suite", "n6"}).args ==
        Json{{"variant", "cpu_tiled"}, {"suite", "n6"}});
  CHECK(command({"playbook", "check", "x.lua"}).verb == "playbook_check");
  const Command propose =
      command({"propose", "--edits", R"([{"path": "a", "search": "b", "replace": "c"}])"});
  CHECK(propose.verb == "propose");
  CHECK(propose.args["edits"][0]["search"] == "b");
  CHECK(command({"propose", "many", "--proposals", "[{}]"}).verb == "propose_many");
}

TEST_CASE("faults of the command line are usage errors with a suggestion", "[cli][command_line]") {
  struct Bad {
    std::vector<std::string> words;
    const char* fragment;
  };
  const std::vector<Bad> cases{
      {{"chek", "x"}, "did you mean check"},
      {{"check", "x", "--suit", "n6"}, "did you mean --suite"},
      {{}, "subcommand"},
      {{"iterate", "--variant", "x"}, "required"},
      {{"open", "--start", "x", "--evaluations", "many"}, "not an integer"},
      {{"open", "--start", "x", "--usd", "1e"}, "not a number"},
      {{"iterate", "--variant", "x", "--hypothesis", "h", "--predicted-speedup", "1.1",
        "--configuration", "TILE_M"},
       "NAME=VALUE"},
      {{"iterate", "--variant", "x", "--hypothesis", "h", "--predicted-speedup", "1.1",
        "--configuration", "A=1", "A=2"},
       "twice"},
      {{"iterate", "--variant", "x", "--hypothesis", "h", "--predicted-speedup", "1.1", "--files",
        "kernel.cpp=@missing.cpp"},
       "missing.cpp"},
      {{"propose", "--edits", "@missing.json"}, "missing.json"},
      {{"propose", "--edits", "[{]"}, "--edits"},
      {{"propose", "--edit", "[]"}, "did you mean --edits"},
  };
  for (const Bad& bad : cases) {
    const PrintAndExit text = refusal(bad.words);
    INFO(text.err);
    CHECK(text.exit_code == 2);
    CHECK(text.err.find(bad.fragment) != std::string::npos);
  }
}

TEST_CASE("the reference names every verb and argument", "[cli][command_line]") {
  const std::string page = command_reference();
  for (const verbs::Verb* one : verbs::verb_table()) {
    const VerbSpec& verb = one->spec;
    for (const ArgumentSpec& spec : verb.arguments) {
      INFO(verb.name << " " << spec.name);
      CHECK(page.find(std::string(spec.doc.substr(0, 20))) != std::string::npos);
    }
  }
}

TEST_CASE("a progress line has stage, i/n, best, elapsed, left and cost", "[cli][progress]") {
  engine::Progress progress;
  progress.stage = "confirmation";
  progress.what = "n6_S64";
  progress.done = 2;
  progress.total = 14;
  progress.iteration = 3;
  progress.best_speedup = 1.834;
  progress.elapsed_s = 65;
  progress.left_s = 125;
  progress.cost_usd = 0.0123;
  CHECK(progress_text(progress) ==
        "iteration 3  confirmation 3/14  n6_S64  best 1.83x  1:05 elapsed  ~2:05 left  $0.0123");
}

TEST_CASE("unknown cost is said, unknown rest is left out", "[cli][progress]") {
  engine::Progress progress;
  progress.stage = "build";
  progress.iteration = -1;
  const std::string text = progress_text(progress);
  CHECK(text.find("rate not given") != std::string::npos);
  CHECK(text.find("left") == std::string::npos);
  CHECK(text.find("best") == std::string::npos);
}
