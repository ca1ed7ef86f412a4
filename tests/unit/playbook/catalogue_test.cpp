// SPDX-License-Identifier: MIT
// Playbooks as they are listed, and the instructions of playbooks that a model follows.
#include <fstream>

#include "playbook/agent_file.hpp"
#include "playbook/owner.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::playbook;

namespace {

struct Folder {
  TempDirectory temp = *TempDirectory::create("wb-playbooks-");
  RealFileSystem file_system;

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((temp.path() / path).parent_path());
    std::ofstream(temp.path() / path, std::ios::binary) << text;
  }
  Result<PlaybookSource> find(const std::string& name) const {
    return find_playbook(file_system, {{temp.path() / "first", temp.path() / "second"}}, name);
  }
};

}  // namespace

TEST_CASE("a playbook is found by name, first root first, with its library", "[playbook][unit]") {
  const Folder folder;
  folder.write("second/playbooks/tune.lua", "return 'second'");
  folder.write("second/playbooks/lib/steps.lua", "return 1");
  folder.write("second/playbooks/lib/readme.md", "no Lua");
  CHECK(folder.find("tune")->text == "return 'second'");
  CHECK(folder.find("tune")->lib == std::map<std::string, std::string>{{"lib.steps", "return 1"}});
  folder.write("first/playbooks/tune.lua", "return 'first'");
  CHECK(folder.find("tune")->text == "return 'first'");
  CHECK(folder.find("tune")->lib.empty());
}

TEST_CASE("a playbook of a folder is found with the folder's name and without it",
          "[playbook][unit]") {
  const Folder folder;
  folder.write("second/playbooks/h200/part.lua", "return 1");
  folder.write("second/playbooks/lib/words.lua", "return 2");
  for (const char* name : {"h200/part", "part"}) {
    INFO(name);
    CHECK(folder.find(name)->text == "return 1");
    CHECK(folder.find(name)->lib.contains("lib.words"));
  }
  CHECK_FALSE(folder.find("words").ok());
  CHECK(folder.find("prat").error().message().find("did you mean part?") != std::string::npos);
  folder.write("second/playbooks/part.lua", "return 'outside'");
  CHECK(folder.find("part")->text == "return 'outside'");
  CHECK(folder.find("h200/part")->text == "return 1");
}

TEST_CASE("a playbook is found by path", "[playbook][unit]") {
  const Folder folder;
  folder.write("mine.lua", "return 3");
  CHECK(folder.find((folder.temp.path() / "mine.lua").string())->text == "return 3");
  CHECK(folder.find((folder.temp.path() / "other.lua").string()).error().code ==
        ErrorCode::not_found);
}

TEST_CASE("the whole source changes with every file", "[playbook][unit]") {
  PlaybookSource source{"x.lua", "return 1", {{"lib.a", "return 2"}}};
  const std::string before = source.whole();
  source.lib["lib.a"] = "return 3";
  CHECK(source.whole() != before);
}

TEST_CASE("unknown names get a suggestion or the list", "[playbook][unit]") {
  const Folder folder;
  CHECK(folder.find("tune").error().message().find("--path DIR") != std::string::npos);
  folder.write("first/playbooks/tune.lua", "return 1");
  folder.write("second/playbooks/tune.lua", "return 1");
  const auto near = folder.find("tuen");
  REQUIRE_FALSE(near.ok());
  CHECK(near.error().code == ErrorCode::not_found);
  CHECK(near.error().message().find("did you mean tune?") != std::string::npos);
  CHECK(folder.find("something_else").error().message().find("known: tune") != std::string::npos);
}

TEST_CASE("files that are not text or too large are refused", "[playbook][unit]") {
  const Folder folder;
  folder.write("first/playbooks/code.lua", std::string("\x1bLua\x54\0\x19", 7));
  CHECK(folder.find("code").error().code == ErrorCode::invalid);
  folder.write("first/playbooks/latin.lua", "-- caf\xe9\nreturn 1");
  CHECK(folder.find("latin").error().message().find("UTF-8") != std::string::npos);
  folder.write("first/playbooks/long.lua", std::string((1u << 20) + 1, ' '));
  CHECK(folder.find("long").error().code == ErrorCode::limit);
  folder.write("second/playbooks/many.lua", "return 1");
  for (const char* name : {"a", "b", "c"}) {
    folder.write(fs::path("second/playbooks/lib") / (std::string(name) + ".lua"),
                 std::string(800'000, ' '));
  }
  CHECK(folder.find("many").error().code == ErrorCode::limit);
}

// Front matter of playbooks for agents: what is read, and what is refused with which reason.

namespace {

Result<AgentFile> parsed(const std::string& text, const char* path = "agents/reader.md") {
  return parse_agent(text, path);
}

std::string refusal(const std::string& text) {
  const auto agent = parsed(text);
  return agent.ok() ? "accepted" : agent.error().message();
}

}  // namespace

TEST_CASE("an agent's playbook has a name, a description and a model", "[playbook][agent]") {
  const auto agent = parsed(
      "---\r\nname: reader\r\ndescription: \"Reads: all of it\"\nmodel: small-1\n"
      "tools: Bash, Read,\n---\n\n# Steps\n\n---\n");
  REQUIRE(agent.ok());
  CHECK(agent->name == "reader");
  CHECK(agent->description == "Reads: all of it");
  CHECK(agent->model == "small-1");
  CHECK(agent->tools == std::vector<std::string>{"Bash", "Read"});
  CHECK(agent->body == "\n# Steps\n\n---\n");
  // Without a model it is that of whoever calls.
  CHECK(parsed("---\nname: reader\ndescription: d\n---\nx")->model == "inherit");
  CHECK(parsed("---\nname: reader\ndescription: d\nmodel:\n---\nx")->model == "inherit");
}

TEST_CASE("what is no playbook of an agent says why", "[playbook][agent]") {
  const auto says = [](const std::string& text, const char* why) {
    CAPTURE(text);
    CHECK(refusal(text).find(why) != std::string::npos);
  };
  says("", "has no end");
  says("# Steps\n", "first line is not ---");
  says("---\nname: reader\ndescription: d\n", "has no end");
  says("---\nname: reader\nhello\n---\nx", "line 3 is none of its fields: hello");
  says("---\nname: reader\ncolour: red\n---\nx", "line 3 is none of its fields: colour");
  says("---\nname: reader\nname: b\n---\nx", "line 3: name a second time");
  says("---\ndescription: d\n---\nx", "it has no name");
  says("---\nname: reader\n---\nx", "it has no description");
  says("---\nname: other\ndescription: d\n---\nx", "its name, other, is not its file's");
  says("---\nname: reader\ndescription: d\n---\n \n", "nothing follows");
}
